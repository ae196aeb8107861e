-- What differs between a swept bed and its expectations: prints nothing if all
-- is as it must be. The bed's own verify queries come on top.
-- -v expected, -v failed: keys between commas, the columns of a key joined by /
-- -v cancelled: predicate over o, which orders are cancelled

\set ON_ERROR_STOP on
SET TimeZone = 'UTC';

CREATE FUNCTION pg_temp.listed(list text) RETURNS SETOF text LANGUAGE sql AS
$$ SELECT btrim(k) FROM string_to_table(list, ',') AS k WHERE k ~ '\S' $$;
CREATE FUNCTION pg_temp.plain(key jsonb) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(part, '/' ORDER BY n)
      FROM jsonb_array_elements_text(key) WITH ORDINALITY AS u(part, n)
$$;

SELECT 'not swept: ' || k FROM (
    SELECT pg_temp.listed(:'expected')
    EXCEPT ALL
    SELECT pg_temp.plain(order_key) FROM order_sweep.journal) AS u(k);
SELECT 'swept: ' || k FROM (
    SELECT pg_temp.plain(order_key) FROM order_sweep.journal
    EXCEPT ALL
    SELECT pg_temp.listed(:'expected')) AS u(k);
SELECT 'failed: ' || concat_ws(': ', f.key, l.key, f.message)
  FROM (SELECT pg_temp.plain(order_key) AS key, message
          FROM order_sweep.failure) AS f
  FULL JOIN pg_temp.listed(:'failed') AS l(key) ON l.key = f.key
 WHERE f.key IS NULL OR l.key IS NULL;

-- The journal, the run and the orders tell the same; nothing but what the
-- journal names was touched; the second run had no work.
SELECT 'runs: ' || count(*) FROM order_sweep.run HAVING count(*) <> 1;
SELECT 'run and journal: ' || sum(swept) FROM order_sweep.run
HAVING sum(swept) <> (SELECT count(*) FROM order_sweep.journal);
SELECT format($query$
    SELECT 'order and journal: ' || pg_temp.plain(b.key)
      FROM bed.before b
      LEFT JOIN (SELECT jsonb_build_array(%s) AS key,
                        (%s) IS TRUE AS cancelled, to_jsonb(o) AS content
                   FROM %s o) AS a ON a.key = b.key
      LEFT JOIN order_sweep.journal j ON j.order_key = b.key
     WHERE CASE WHEN j.order_key IS NULL
                THEN a.content IS DISTINCT FROM b.content
                ELSE b.cancelled OR a.cancelled IS NOT TRUE END
    $query$,
    (SELECT string_agg(format('o.%I', k), ', ' ORDER BY n)
       FROM unnest(s.key) WITH ORDINALITY AS u(k, n)),
    :'cancelled', s.orders)
  FROM order_sweep.sweep s \gexec
