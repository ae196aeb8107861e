-- check --probe: remove the row, if it is there; how many there were.
WITH gone AS (
    DELETE FROM order_sweep.run WHERE sweep = 'order_sweep check --probe'
    RETURNING id
)
SELECT count(*) FROM gone
