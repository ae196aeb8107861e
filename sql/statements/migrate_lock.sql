-- One migration at a time, until its transaction ends.
SELECT pg_advisory_xact_lock(1869838192, 0)
