-- How late the orders of the last measurement were swept, by the time of their
-- commit; none may be early.
\pset format aligned
\pset tuples_only off
SELECT count(*) AS swept,
       count(*) FILTER (WHERE late < 0) AS early,
       round(percentile_disc(0.5) WITHIN GROUP (ORDER BY late)::numeric, 1)
           AS "p50, ms",
       round(percentile_disc(0.99) WITHIN GROUP (ORDER BY late)::numeric, 1)
           AS "p99, ms",
       round(max(late)::numeric, 1) AS "max, ms"
  FROM (SELECT 1000 * extract(epoch FROM
                   pg_xact_commit_timestamp(j.xmin) - o.created_at
                   - interval '30 minutes') AS late
          FROM order_sweep.journal j
          JOIN shop.orders o ON j.order_key = jsonb_build_array(o.id)) AS l;
