-- The table of punctual.sh, whose orders come on stdin.  What was not swept is
-- later than all that was; a percentile that falls on it is told so.

\set ON_ERROR_STOP on

CREATE TEMP TABLE lateness (
    place int,
    way   text,
    ms    float8
);
\copy lateness from pstdin

\qecho | Way | Swept | Early | p50 | p99 | Longest of the swept | Not swept :patience s after the last deadline |
\qecho |---|---|---|---|---|---|---|

WITH spread AS (
    SELECT place, way, count(ms) AS swept, count(*) - count(ms) AS unswept,
           count(*) FILTER (WHERE ms < 0) AS early, max(ms) AS longest,
           percentile_disc('{0.5,0.99}'::float8[]) WITHIN GROUP
               (ORDER BY coalesce(ms, 'Infinity')) AS percentile
      FROM lateness
     GROUP BY place, way
)
SELECT format('| %s | %s | %s | %s | %s | %s | %s |',
              CASE WHEN way LIKE 'order-sweep%' THEN '`' || way || '`'
                   ELSE way END,
              swept, early,
              CASE WHEN percentile[1] = 'Infinity' THEN 'not swept'
                   ELSE to_char(percentile[1], 'FM999,990.0') END,
              CASE WHEN percentile[2] = 'Infinity' THEN 'not swept'
                   ELSE to_char(percentile[2], 'FM999,990.0') END,
              to_char(longest, 'FM999,990.0'), unswept)
  FROM spread
 ORDER BY place;
