-- Wait for the runs of all sweeps, before a migration takes locks that a run
-- might want.
SELECT pg_advisory_xact_lock(1869838192, s.id) FROM order_sweep.sweep s ORDER BY s.id
