-- The last file: whatever stands in the ones before is nobody's by default.

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA order_sweep FROM PUBLIC;
-- It may stand in an index of the shop's table: who writes there runs it.
GRANT EXECUTE ON FUNCTION order_sweep.moment(text) TO PUBLIC;
-- Whoever looks at due orders through the text of a definition, as check does.
GRANT EXECUTE ON FUNCTION order_sweep.same_type(anyelement, anyelement) TO PUBLIC;
