-- The last file: whatever stands in the ones before is nobody's by default.

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA order_sweep FROM PUBLIC;
-- It may stand in an index of the shop's table: who writes there runs it.
GRANT EXECUTE ON FUNCTION order_sweep.moment(text) TO PUBLIC;
-- Whoever looks at due orders through the text of a definition, as check does.
GRANT EXECUTE ON FUNCTION order_sweep.same_type(anyelement, anyelement) TO PUBLIC;

-- Whoever may define may call what is new, too: migrate generates as he.
DO $$
DECLARE
    _definer regrole;
BEGIN
    FOR _definer IN
        SELECT DISTINCT a.grantee::regrole
          FROM pg_proc p, aclexplode(p.proacl) a
         WHERE p.pronamespace = 'order_sweep'::regnamespace
           AND p.proname = 'define' AND a.grantee NOT IN (0, p.proowner)
    LOOP
        PERFORM order_sweep.grant_define_to(_definer);
    END LOOP;
END $$;
