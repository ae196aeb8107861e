-- The plan of the prepared look.
EXPLAIN (VERBOSE, FORMAT JSON) EXECUTE checked(NULL, NULL, NULL, NULL)
