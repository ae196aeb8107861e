-- The end of a dry run's transaction.
COMMIT
