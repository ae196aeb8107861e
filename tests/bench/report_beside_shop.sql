-- The table of beside_shop.sh.

\set ON_ERROR_STOP on

CREATE TEMP TABLE latency (round int, place int, way text, us float8);
CREATE TEMP TABLE wait (round int, place int, way text, role text, ms float8);
CREATE TEMP TABLE sweep (round int, place int, way text, us float8, orders int);
\set copy '\\copy latency from ' :'latencies'
:copy
\set copy '\\copy wait from ' :'waits'
:copy
\set copy '\\copy sweep from ' :'sweeps'
:copy

\qecho | Beside the shop | Orders/s swept | p50, ms | p99, ms | p99 of without | Longest, ms | Lock waits of the shop above 1 ms, longest | of the sweep |
\qecho |---|---|---|---|---|---|---|---|

WITH spread AS (
    SELECT round, place, way, max(us) / 1e3 AS longest,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY us) / 1e3 AS p50,
           percentile_cont(0.99) WITHIN GROUP (ORDER BY us) / 1e3 AS p99
      FROM latency
     GROUP BY round, place, way
), beside AS (
    SELECT s.*, s.p99 / w.p99 AS ratio
      FROM spread s
      JOIN spread w ON w.round = s.round AND w.place = 0
), waits AS (
    SELECT place, role, count(*) AS count, max(ms) AS ms
      FROM wait
     GROUP BY place, role
)
SELECT format('| %s | %s | %s | %s | %s (%s..%s) | %s | %s | %s |',
              CASE WHEN way LIKE 'order-sweep%' THEN '`' || way || '`'
                   ELSE way END,
              (SELECT coalesce(to_char(percentile_cont(0.5) WITHIN GROUP
                          (ORDER BY orders / us * 1e6)
                          FILTER (WHERE orders > 0), 'FM9,999,990'), '-')
                 FROM sweep WHERE sweep.place = beside.place),
              to_char(percentile_cont(0.5) WITHIN GROUP (ORDER BY p50),
                      'FM9990.00'),
              to_char(percentile_cont(0.5) WITHIN GROUP (ORDER BY p99),
                      'FM9990.00'),
              to_char(percentile_cont(0.5) WITHIN GROUP (ORDER BY ratio),
                      'FM990.00'),
              to_char(min(ratio), 'FM990.00'), to_char(max(ratio), 'FM990.00'),
              to_char(max(longest), 'FM9990.0'),
              (SELECT coalesce(max(count || ', ' || to_char(ms, 'FM9990.0')), '0')
                 FROM waits WHERE waits.place = beside.place
                  AND role = 'shop_owner'),
              (SELECT coalesce(max(count || ', ' || to_char(ms, 'FM9990.0')), '0')
                 FROM waits WHERE waits.place = beside.place
                  AND role = 'cron'))
  FROM beside
 GROUP BY place, way
 ORDER BY place;
