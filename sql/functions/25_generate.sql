-- From a definition's row to its functions.

CREATE OR REPLACE FUNCTION order_sweep.build(s order_sweep.sweep)
RETURNS TABLE (name text, arguments text, returns text, options text,
               body text, remark text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT * FROM order_sweep.build_due(s)
    UNION ALL SELECT * FROM order_sweep.build_next(s)
    UNION ALL SELECT * FROM order_sweep.build_backlog(s)
    UNION ALL SELECT * FROM order_sweep.build_fault(s)
    UNION ALL SELECT * FROM order_sweep.build_clock(s)
    UNION ALL SELECT * FROM order_sweep.build_explain(s)
    UNION ALL SELECT * FROM order_sweep.build_late(s)
    UNION ALL SELECT * FROM order_sweep.build_gone(s)
    UNION ALL SELECT * FROM order_sweep.build_batch(s)
    UNION ALL SELECT * FROM order_sweep.build_newest(s)
    UNION ALL SELECT * FROM order_sweep.build_cancel(s)
    UNION ALL SELECT * FROM order_sweep.build_fail(s)
    UNION ALL SELECT * FROM order_sweep.build_lines(s)
$$;
COMMENT ON FUNCTION order_sweep.build IS
    'the text of each function of a definition, without creating it';

CREATE OR REPLACE FUNCTION order_sweep.signature(name text, arguments text)
RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('order_sweep.%I(%s)', name,
                  replace(arguments, ' DEFAULT 1', ''))
$$;
COMMENT ON FUNCTION order_sweep.signature IS
    'how a generated function is named in SQL: without the defaults of its '
    'arguments';

CREATE OR REPLACE FUNCTION order_sweep.generate(s order_sweep.sweep)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET check_function_bodies = on
SET standard_conforming_strings = on
SET client_min_messages = warning
AS $$
DECLARE
    f record;
    _grantee record;
    _kept oid[];
    _signature text;
BEGIN
    FOR f IN SELECT * FROM order_sweep.build(s) LOOP
        -- DROP and CREATE, since a changed key or clock changes the
        -- signature; the grants given before are given again.
        SELECT coalesce(array_agg(DISTINCT a.grantee), '{}') INTO _kept
          FROM pg_proc p, aclexplode(p.proacl) a
         WHERE p.pronamespace = 'order_sweep'::regnamespace
           AND p.proname = f.name
           AND a.grantee <> p.proowner AND a.grantee <> 0;
        _signature := order_sweep.signature(f.name, f.arguments);
        PERFORM order_sweep.drop_function(f.name);
        EXECUTE format('CREATE FUNCTION order_sweep.%I(%s) RETURNS %s '
            'LANGUAGE plpgsql %s AS %L',
            f.name, f.arguments, f.returns, f.options, f.body);
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', _signature);
        EXECUTE format('COMMENT ON FUNCTION %s IS %L', _signature, f.remark);
        FOR _grantee IN
            SELECT quote_ident(r.rolname) AS role FROM pg_roles r
             WHERE (r.oid = ANY (_kept)
                    OR r.oid IN (SELECT * FROM order_sweep.grantees(f.name)))
               AND r.rolname <> s.owner
        LOOP
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s', _signature, _grantee.role);
        END LOOP;
    END LOOP;
    IF s.paid IS NULL THEN
        PERFORM order_sweep.drop_function(s.name || '_late');
    END IF;
END $$;
COMMENT ON FUNCTION order_sweep.generate IS
    'create the functions of a definition anew, as the current role, with the '
    'grants they had';

CREATE OR REPLACE FUNCTION order_sweep.drop_function(name text)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _signature text;
BEGIN
    FOR _signature IN
        SELECT p.oid::regprocedure::text FROM pg_proc p
         WHERE p.pronamespace = 'order_sweep'::regnamespace
           AND p.proname = drop_function.name
    LOOP
        EXECUTE 'DROP FUNCTION ' || _signature;
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.drop_function IS
    'drop the functions of this name in the schema, whatever their parameters';
