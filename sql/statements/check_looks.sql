-- The looks for due orders, to be explained.
SELECT sweep, 'look', path, parameters, statement FROM order_sweep.check_looks()
