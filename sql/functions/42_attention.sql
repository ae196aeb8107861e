-- What needs a person: orders that fail, and orders that were paid after all.

CREATE OR REPLACE FUNCTION order_sweep.key_of(s order_sweep.sweep, key json)
RETURNS jsonb LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET TimeZone = 'UTC'
SET DateStyle = 'ISO, MDY'
AS $$
DECLARE
    _key jsonb;
BEGIN
    EXECUTE format('SELECT jsonb_build_array(%s)', order_sweep.key_values(s, key))
       INTO _key USING key;
    RETURN _key;
END $$;
COMMENT ON FUNCTION order_sweep.key_of IS
    'an order''s key, given as an array of texts, as the books write it';

CREATE OR REPLACE FUNCTION order_sweep.retry(sweep text, key json)
RETURNS TABLE (order_key jsonb, attempts integer, quarantined boolean,
               sqlstate text, message text, failed_at timestamptz)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    s order_sweep.sweep;
    _key jsonb;
BEGIN
    SELECT * INTO s FROM order_sweep.sweep d
     WHERE d.id = order_sweep.known(retry.sweep);
    IF retry.key IS NOT NULL THEN
        _key := order_sweep.key_of(s, retry.key);
    END IF;
    -- It is told as done.
    PERFORM set_config('synchronous_commit', 'on', true);
    RETURN QUERY
    WITH gone AS (
        DELETE FROM order_sweep.failure f
         WHERE f.sweep = s.name AND (_key IS NULL OR f.order_key = _key)
        RETURNING f.order_key, f.attempts, f.quarantined, f.sqlstate, f.message,
                  f.failed_at),
    told AS (
        DELETE FROM order_sweep.delivery d
         WHERE d.sweep = s.name AND (_key IS NULL OR d.order_key = _key)
           AND d.message IS NOT NULL -- else a relay is at it
        RETURNING d.order_key, d.attempts, d.parked, NULL, d.message,
                  d.failed_at)
    SELECT * FROM gone UNION ALL SELECT * FROM told
     ORDER BY failed_at, order_key;
END $$;
COMMENT ON FUNCTION order_sweep.retry IS
    'forget the failures of an order, or of all orders of a sweep (NULL), and '
    'what a relay''s command refused: the next run, and the next relay, tries '
    'them as if they had never failed; returns what was known, a refused event '
    'without an SQLSTATE';

CREATE OR REPLACE FUNCTION order_sweep.late(sweep text)
RETURNS TABLE (order_key jsonb, swept_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    s order_sweep.sweep;
BEGIN
    SELECT * INTO s FROM order_sweep.sweep d
     WHERE d.id = order_sweep.known(late.sweep);
    IF s.paid IS NULL THEN
        RETURN QUERY SELECT NULL::jsonb, NULL::timestamptz;
    ELSE
        RETURN QUERY EXECUTE 'SELECT * FROM '
            || order_sweep.own_function(s.name, '_late') || '()';
    END IF;
END $$;
COMMENT ON FUNCTION order_sweep.late IS
    'orders of a sweep with evidence of payment after they were swept; one row '
    'of NULLs where define was given no paid, so that nobody knows';
