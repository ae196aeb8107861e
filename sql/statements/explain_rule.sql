-- The plan of a prepared rule.
EXPLAIN (VERBOSE, FORMAT JSON) EXECUTE checked
