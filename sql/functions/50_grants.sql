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
    IF role IS NULL THEN
        PERFORM order_sweep.refuse('role', 'is NULL', 'Name a role.');
    END IF;
    FOR s IN SELECT d.path, d.owner FROM order_sweep.sweep d
              WHERE order_sweep.owner_exists(d) LOOP
        PERFORM order_sweep.check_path(s.path, s.owner);
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

CREATE OR REPLACE FUNCTION order_sweep.read_functions()
RETURNS text[] LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT '{schema_version,probe,preview,explain,key_text,blame,last_runs,status,late,metrics,events}'::text[]
$$;
COMMENT ON FUNCTION order_sweep.read_functions IS
    'the functions that a dry run, explain, status, late and metrics need';

CREATE OR REPLACE FUNCTION order_sweep.run_functions()
RETURNS text[] LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT order_sweep.read_functions()
        || '{calls_of,begin_run,left_over,finish_run,prune,sign_of_life,'
           'take_slot,retry,'
           'publishing,claim_events,take_events,publish_events,refuse_event,release_events,'
           'postpone_events}'::text[]
$$;
COMMENT ON FUNCTION order_sweep.run_functions IS
    'the functions that a run needs, and retry';

CREATE OR REPLACE FUNCTION order_sweep.read_suffixes()
RETURNS text[] LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT '{_due,_next,_backlog,_fault,_clock,_explain,_late,_gone}'::text[]
$$;
COMMENT ON FUNCTION order_sweep.read_suffixes IS
    'the generated functions that only look';

CREATE OR REPLACE FUNCTION order_sweep.run_suffixes()
RETURNS text[] LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT order_sweep.read_suffixes() || '{_batch,_newest,_cancel,_fail}'::text[]
$$;
COMMENT ON FUNCTION order_sweep.run_suffixes IS
    'the generated functions that a run calls';

CREATE OR REPLACE FUNCTION order_sweep.all_suffixes()
RETURNS text[] LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- What makes an event's line is called for events of the journal only.
    SELECT order_sweep.run_suffixes() || '{_lines}'::text[]
$$;
COMMENT ON FUNCTION order_sweep.all_suffixes IS
    'the generated functions, all of them';

CREATE OR REPLACE FUNCTION order_sweep.grant_read_to(role regrole)
RETURNS void LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT order_sweep.grant_functions(role, order_sweep.read_functions(),
                                       order_sweep.read_suffixes())
$$;
COMMENT ON FUNCTION order_sweep.grant_read_to IS
    'let a role look: dry run; it covers later definitions too; ended by '
    'REVOKE ALL ON ALL FUNCTIONS IN SCHEMA order_sweep FROM role';

CREATE OR REPLACE FUNCTION order_sweep.grant_to(role regrole)
RETURNS void LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT order_sweep.grant_functions(role, order_sweep.run_functions(),
                                       order_sweep.run_suffixes())
$$;
COMMENT ON FUNCTION order_sweep.grant_to IS
    'let a role run the sweeps: it can cancel due, unpaid orders, and keep the '
    'books of runs and of failures; it covers later definitions too; ended by REVOKE ALL ON ALL '
    'FUNCTIONS IN SCHEMA order_sweep FROM role';

CREATE OR REPLACE FUNCTION order_sweep.grant_define_to(role regrole)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF role IS NULL THEN
        PERFORM order_sweep.refuse('role', 'is NULL', 'Name a role.');
    END IF;
    EXECUTE format('GRANT USAGE, CREATE ON SCHEMA order_sweep TO %s', role);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON order_sweep.sweep, '
                   'order_sweep.life TO %s', role);
    EXECUTE format('GRANT SELECT ON order_sweep.version, order_sweep.run, '
                   'order_sweep.failure TO %s', role);
    EXECUTE format('GRANT SELECT, INSERT ON order_sweep.journal TO %s', role);
    EXECUTE format('GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA order_sweep TO %s',
                   role);
END $$;
COMMENT ON FUNCTION order_sweep.grant_define_to IS
    'let a role that is not the schema''s owner define sweeps, and own the '
    'generated functions (run_as)';
