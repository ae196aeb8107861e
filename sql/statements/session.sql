-- Whose session is it, and what are its transactions?
SELECT pg_catalog.pg_backend_pid(),
       pg_catalog.current_setting('transaction_isolation')
