-- What monitoring is told of a sweep.  $1: sweep.  The session may not be set:
-- nothing here may depend on its search_path.
SELECT m.name, m.type, m.help, m.label, m.word, m.value
  FROM order_sweep.metrics($1::pg_catalog.text) AS m
