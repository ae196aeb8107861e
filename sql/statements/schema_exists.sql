-- Is there a schema at all.
SELECT to_regnamespace('order_sweep') IS NOT NULL
