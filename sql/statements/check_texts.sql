-- The parts that the definitions live on, to be prepared and explained.
SELECT sweep, argument, path, role, row_security, settings, parameters,
       statement, explain
  FROM order_sweep.check_texts()
