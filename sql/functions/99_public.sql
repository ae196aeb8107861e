-- The last file: whatever stands in the ones before is nobody's by default.

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA order_sweep FROM PUBLIC;
