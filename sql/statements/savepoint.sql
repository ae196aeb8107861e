-- A lock more in the transaction that has one.
SAVEPOINT order_sweep
