-- Whose session is it, and what are its transactions?
SELECT pg_backend_pid(), current_setting('transaction_isolation')
