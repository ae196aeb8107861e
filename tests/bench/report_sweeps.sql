-- The table of sweeps.sh's sweeps, whose lines come on stdin.

\set ON_ERROR_STOP on

CREATE TEMP TABLE sweep (
    round    int,
    place    int,
    way      text,
    orders   int,
    seconds  float8,
    cpu      float8,
    peak_kib int
);
\copy sweep from pstdin

\qecho | Way | Orders | Orders/s | of set-based | times the loop | Client CPU, µs an order | Peak memory, MiB |
\qecho |---|---|---|---|---|---|---|

-- Ratios are taken within each round, so that they hold on a machine whose
-- speed drifts.
WITH rate AS (
    SELECT *, orders / seconds AS rate
      FROM sweep
), beside AS (
    SELECT r.*, r.rate / s.rate AS of_set, r.rate / l.rate AS of_loop
      FROM rate r
      LEFT JOIN rate s ON s.round = r.round AND s.way = 'set-based statement'
      LEFT JOIN rate l ON l.round = r.round AND l.way = 'one-at-a-time loop'
), median AS (
    SELECT place, way, orders, min(rate) AS min, max(rate) AS max,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY rate) AS rate,
           min(of_set) AS min_set, max(of_set) AS max_set,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY of_set) AS of_set,
           min(of_loop) AS min_loop, max(of_loop) AS max_loop,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY of_loop) AS of_loop,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY cpu / orders) AS cpu,
           max(peak_kib) AS peak_kib
      FROM beside
     GROUP BY place, way, orders
)
SELECT format('| %s | %s | %s (%s..%s) | %s | %s | %s | %s |',
              CASE WHEN way LIKE 'order-sweep%' THEN '`' || way || '`'
                   ELSE way END,
              to_char(orders, 'FM9,999,990'),
              to_char(rate, 'FM9,999,990'), to_char(min, 'FM9,999,990'),
              to_char(max, 'FM9,999,990'),
              coalesce(to_char(of_set, 'FM990.000') || ' ('
                  || to_char(min_set, 'FM990.000') || '..'
                  || to_char(max_set, 'FM990.000') || ')', '-'),
              coalesce(to_char(of_loop, 'FM990.0') || ' ('
                  || to_char(min_loop, 'FM990.0') || '..'
                  || to_char(max_loop, 'FM990.0') || ')', '-'),
              to_char(cpu * 1e6, 'FM9990.0'),
              to_char(peak_kib / 1024.0, 'FM9990.0'))
  FROM median
 ORDER BY place;
