-- Give back the lock that was taken last in the transaction.
ROLLBACK TO SAVEPOINT order_sweep
