-- A wait must end by what the steps do, not by time.
ALTER FUNCTION order_sweep.cancel_unpaid_cancel SET lock_timeout = 0;
