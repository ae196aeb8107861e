-- check --probe: a row that the next statement of the segment must undo.
SELECT order_sweep.begin_run('order_sweep check --probe', '', 0, NULL)
