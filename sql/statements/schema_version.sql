-- The version of the schema; fails where there is none.
SELECT order_sweep.schema_version()
