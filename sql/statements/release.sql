-- The savepoint before this one is the last now.
RELEASE SAVEPOINT order_sweep
