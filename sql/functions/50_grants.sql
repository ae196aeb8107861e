-- Who may do what: nobody anything, until one of these is called.

CREATE OR REPLACE FUNCTION order_sweep.grant_functions(
    role regrole, functions text[], suffixes text[])
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    s record;
    _signature text;
BEGIN
    FOR s IN SELECT d.name, string_to_array(d.search_path, ', ') AS path
               FROM order_sweep.sweep d LOOP
        PERFORM order_sweep.check_path(ARRAY(
            SELECT n.nspname FROM pg_namespace n
             WHERE quote_ident(n.nspname) = ANY (s.path)));
    END LOOP;
    EXECUTE format('GRANT USAGE ON SCHEMA order_sweep TO %s', role);
    FOR _signature IN
        SELECT p.oid::regprocedure::text FROM pg_proc p
         WHERE p.pronamespace = 'order_sweep'::regnamespace
           AND (p.proname = ANY (functions)
                OR EXISTS (SELECT FROM order_sweep.sweep d, unnest(suffixes) x
                            WHERE p.proname = d.name || x))
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s', _signature, role);
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.grant_functions IS
    'let a role execute these functions, and those of every definition with '
    'one of the suffixes';

CREATE OR REPLACE FUNCTION order_sweep.grant_read_to(role regrole)
RETURNS void LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT order_sweep.grant_functions(role,
        '{schema_version,probe,preview}', '{_due,_next,_late}')
$$;
COMMENT ON FUNCTION order_sweep.grant_read_to IS
    'let a role look: dry run; it covers later definitions too; ended by '
    'REVOKE ALL ON ALL FUNCTIONS IN SCHEMA order_sweep FROM role';

CREATE OR REPLACE FUNCTION order_sweep.grant_to(role regrole)
RETURNS void LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT order_sweep.grant_read_to(role);
    SELECT order_sweep.grant_functions(role,
        '{calls_of,begin_run,record_failure,finish_run,sign_of_life}',
        '{_batch,_newest,_cancel}')
$$;
COMMENT ON FUNCTION order_sweep.grant_to IS
    'let a role run the sweeps: it can cancel due, unpaid orders and nothing '
    'else; it covers later definitions too; ended by REVOKE ALL ON ALL '
    'FUNCTIONS IN SCHEMA order_sweep FROM role';

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA order_sweep FROM PUBLIC;
