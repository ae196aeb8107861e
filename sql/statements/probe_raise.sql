-- check --probe: the statement that fails.
SELECT 1 / 0
