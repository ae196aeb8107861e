-- The last file: whatever stands in the ones before is nobody's by default.

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA order_sweep FROM PUBLIC;
-- It may stand in an index of the shop's table: who writes there runs it.
GRANT EXECUTE ON FUNCTION order_sweep.moment(text) TO PUBLIC;
-- Whoever looks at due orders through the text of a definition, as check does.
GRANT EXECUTE ON FUNCTION order_sweep.same_type(anyelement, anyelement) TO PUBLIC;

-- Whoever may define may call what is new, too: migrate generates as he.  And
-- whoever may run or look, what runs and looks call since.
DO $$
DECLARE
    _grant text;
BEGIN
    FOR _grant IN
        SELECT format('GRANT EXECUTE ON FUNCTION %s TO %s', f.oid::regprocedure,
                      a.grantee::regrole)
          FROM pg_proc p, aclexplode(p.proacl) a, pg_proc f
         WHERE p.pronamespace = 'order_sweep'::regnamespace
           AND (p.proname = 'define'
                OR (p.proname = 'begin_run'
                    AND f.proname = ANY (order_sweep.run_functions()))
                OR (p.proname = 'preview'
                    AND f.proname = ANY (order_sweep.read_functions())))
           AND a.grantee NOT IN (0, p.proowner)
           AND f.pronamespace = p.pronamespace AND f.proowner = p.proowner
           AND NOT has_function_privilege(a.grantee, f.oid, 'EXECUTE')
    LOOP
        EXECUTE _grant;
    END LOOP;
END $$;
