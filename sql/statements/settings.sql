-- The session's settings.  $1: for this transaction only (true) or for the
-- session; $2: limit of a statement in ms; $3: end the session when it or its
-- transaction has been idle for so many ms (a stopped holder of the lock must
-- not hold it for ever); $4: may commits of orders be asynchronous.
SELECT set_config(s.name, s.value, $1::boolean)
  FROM (VALUES
    ('search_path', 'pg_catalog, pg_temp'),
    ('TimeZone', 'UTC'),
    ('DateStyle', 'ISO, MDY'),
    ('timezone_abbreviations', 'Default'),
    ('IntervalStyle', 'postgres'),
    ('bytea_output', 'hex'),
    ('extra_float_digits', '1'),
    ('client_min_messages', 'warning'),
    ('default_transaction_isolation', 'read committed'),
    ('jit', 'off'),
    ('statement_timeout', $2::text),
    ('idle_session_timeout', $3::text),
    ('idle_in_transaction_session_timeout', $3::text),
    ('synchronous_commit', CASE
        WHEN $4::boolean THEN 'off'
        WHEN current_setting('synchronous_commit') = 'off' THEN 'on'
        ELSE current_setting('synchronous_commit') END),
    ('tcp_keepalives_idle', '10'),
    ('tcp_keepalives_interval', '5'),
    ('tcp_keepalives_count', '3'),
    ('tcp_user_timeout', '25000')
  ) AS s(name, value)
 -- setting this one reads a file
 WHERE s.name <> 'timezone_abbreviations'
    OR current_setting(s.name) <> s.value
