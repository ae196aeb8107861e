-- What order-sweep check says of whoever runs the sweeps: may he come in, may he
-- write, may he call what a run calls.

CREATE OR REPLACE FUNCTION order_sweep.check_database()
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT 'fail', 'database', format('database %I %s', d.datname, x.what),
           x.why, format('ALTER DATABASE %I %s;', d.datname, x.mend)
      FROM pg_database d,
           LATERAL (VALUES
               (d.datallowconn, 'takes no connections',
                'A run cannot connect.', 'ALLOW_CONNECTIONS true'),
               (d.datconnlimit <> 0, 'has a connection limit of 0',
                'Only a superuser''s run can connect.', 'CONNECTION LIMIT -1')
           ) AS x(open, what, why, mend)
     WHERE d.datname = current_database() AND NOT x.open
$$;
COMMENT ON FUNCTION order_sweep.check_database IS
    'does the database take connections';

CREATE OR REPLACE FUNCTION order_sweep.check_read_only(role text)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH setting(name) AS (VALUES ('default_transaction_read_only')),
    given AS (
        SELECT d.*
          FROM setting, order_sweep.set_for(setting.name) d
         WHERE d.role = 0
            OR pg_get_userbyid(d.role) = coalesce($1, session_user)
    )
    SELECT 'fail', 'read only', format('%s is on%s', setting.name, x.whose),
           'A run could write nothing, and is refused.', x.mend
      FROM setting, (
        -- those that a mend of the ones before would leave in force
        -- (whoever mends may be read only himself)
        SELECT g.rank, g.whose,
               format('BEGIN READ WRITE; %s COMMIT;', g.mend) AS mend
          FROM given g
         WHERE g.value::boolean
           AND NOT EXISTS (SELECT FROM given m
                            WHERE m.rank < g.rank AND NOT m.value::boolean)
        UNION ALL
        -- As this session has it: only if nothing else decided here.
        SELECT 5, '', CASE f.source
                      WHEN 'client' THEN 'Take it out of PGOPTIONS, or of the '
                           'options of the connection string or service.'
                      ELSE order_sweep.reset_in_server(f.name) END
          FROM setting JOIN pg_settings f USING (name)
         WHERE f.setting = 'on'
           AND (f.source IN ('configuration file', 'command line')
                OR f.source = 'client' AND $1 IS NULL)
           AND NOT EXISTS (SELECT FROM given g WHERE NOT g.value::boolean)) x
     ORDER BY x.rank
$$;
COMMENT ON FUNCTION order_sweep.check_read_only IS
    'do the transactions of a role, NULL: of this session, begin as read only, '
    'and where that was said';

CREATE OR REPLACE FUNCTION order_sweep.check_login(role text)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT x.level, 'login', format('role %I %s', r.rolname, x.what), x.why,
           format('ALTER ROLE %I %s;', r.rolname, x.mend)
      FROM pg_roles r,
           LATERAL (VALUES
               (r.rolcanlogin, 'fail', 'may not log in',
                'A run under this role is refused.', 'LOGIN'),
               (r.rolconnlimit <> 0 OR r.rolsuper, 'fail',
                'has a connection limit of 0',
                'A run under this role is refused.', 'CONNECTION LIMIT -1'),
               -- That is looked at where a password is asked for, and there
               -- alone; how the role comes in cannot be seen from here.
               (coalesce(r.rolvaliduntil > now(), true), 'warn',
                'has a password that is valid no more',
                'A run that comes in by password is refused.',
                'VALID UNTIL ''infinity''')
           ) AS x(fits, level, what, why, mend)
     WHERE r.rolname = role AND NOT x.fits
$$;
COMMENT ON FUNCTION order_sweep.check_login IS
    'what keeps a role from logging in';

CREATE OR REPLACE FUNCTION order_sweep.check_role(role text)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _missing record;
    _found boolean := EXISTS (SELECT FROM order_sweep.check_login(role));
BEGIN
    IF role IS NULL THEN
        RETURN;
    END IF;
    item := 'grants';
    level := 'fail';
    IF NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = role) THEN
        what := format('there is no role "%s"', role);
        why := 'It is the one that --role names.';
        mend := format('CREATE ROLE %I LOGIN; SELECT order_sweep.grant_to(%L);',
                       role, quote_ident(role));
        RETURN NEXT;
        RETURN;
    END IF;
    why := 'A run under this role would be refused.';
    FOR _missing IN
        SELECT 1 AS n, 'CONNECT on database ' || quote_ident(current_database()) AS x,
               format('GRANT CONNECT ON DATABASE %I TO %I;', current_database(),
                      role) AS mend
         WHERE NOT has_database_privilege(role, current_database(), 'CONNECT')
        UNION ALL
        SELECT 2, 'USAGE on schema order_sweep', NULL
         WHERE NOT has_schema_privilege(role, 'order_sweep', 'USAGE')
        UNION ALL
        SELECT 3, 'EXECUTE on ' || p.oid::regprocedure, NULL FROM pg_proc p
         WHERE p.pronamespace = 'order_sweep'::regnamespace
           AND (p.proname = ANY (order_sweep.run_functions())
                OR EXISTS (SELECT FROM order_sweep.sweep d,
                                  unnest(order_sweep.run_suffixes()) x
                            WHERE p.proname = d.name || x))
           AND NOT has_function_privilege(role, p.oid, 'EXECUTE')
         ORDER BY 1, 2
    LOOP
        _found := true;
        what := format('role %s has no %s', role, _missing.x);
        mend := coalesce(_missing.mend, format('SELECT order_sweep.grant_to(%L);',
                                               quote_ident(role)));
        RETURN NEXT;
    END LOOP;
    IF NOT _found THEN
        level := 'ok';
        what := format('role %s may run every sweep', role);
        why := NULL;
        mend := NULL;
        RETURN NEXT;
    END IF;
END $$;
COMMENT ON FUNCTION order_sweep.check_role IS
    'the rights that a role lacks for a run, each named';
