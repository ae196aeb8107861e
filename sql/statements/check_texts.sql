-- The statements that the definitions live on, to be prepared.
SELECT sweep, argument, path, parameters, statement
  FROM order_sweep.check_texts()
