-- The end of a transaction block.
COMMIT
