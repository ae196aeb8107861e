-- What must hold after the storm (storm.sh), beside support/invariants.sql:
-- what the actors were told is so. Prints a line for each of it that is broken,
-- with an example. To be run after the last run, which has swept all.

WITH told AS (
    -- Of the runs that closed their books, or flushed each commit. What others
    -- told as swept, a crash of the server may have undone.
    SELECT (report->>'run')::bigint AS run, (report->>'swept')::bigint AS swept,
           (report->>'unknown')::bigint AS unknown
      FROM storm.run
     WHERE report->>'run' IS NOT NULL
       AND (status IN (0, 1, 75) OR durability = 'each')
), broken (name, detail) AS (

    SELECT 'payment told as done, but the order is not paid',
           format('order %s, %s by actor %s in step %s, status %s',
                  a.order_id, a.action, a.actor, a.step, o.order_status)
      FROM storm.action a
      LEFT JOIN shop.orders o ON o.id = a.order_id
     WHERE a.result = 'done' AND a.action ~ '^(pay$|pay,|book)'
       AND o.order_status IS DISTINCT FROM 2

    UNION ALL
    SELECT 'order told as placed is not there', format('order %s', a.order_id)
      FROM storm.action a
     WHERE a.result = 'done' AND a.action ~ '^(place|burst)'
       AND NOT EXISTS (SELECT FROM shop.orders o WHERE o.id = a.order_id)

    UNION ALL
    SELECT 'paid order without payment', format('order %s', o.id)
      FROM shop.orders o
     WHERE o.order_status = 2
       AND NOT EXISTS (SELECT FROM shop.payment p WHERE p.order_id = o.id)

    UNION ALL
    SELECT 'paid order cancelled by hand', format('order %s', o.id)
      FROM shop.orders o
     WHERE o.order_status = 4
       AND (o.paid_at IS NOT NULL
            OR EXISTS (SELECT FROM shop.payment p WHERE p.order_id = o.id))

    UNION ALL
    SELECT 'late payment, but not for an order closed before',
           format('order %s, status %s', o.id, o.order_status)
      FROM storm.action a JOIN shop.orders o ON o.id = a.order_id
     WHERE a.result = 'done' AND a.action = 'pay late' AND o.order_status <> 3

    UNION ALL
    SELECT 'late payment, but not in the list of late payments',
           format('order %s', a.order_id)
      FROM storm.action a
     WHERE a.result = 'done' AND a.action = 'pay late'
       AND jsonb_build_array(a.order_id) NOT IN (
            SELECT order_key FROM order_sweep.cancel_unpaid_late())

    UNION ALL
    SELECT 'order left unpaid by the last run', format('order %s', o.id)
      FROM shop.orders o
     WHERE o.order_status = 1

    UNION ALL
    SELECT 'report and journal differ',
           format('run %s: swept %s, unknown %s, journal %s',
                  t.run, t.swept, t.unknown, count(j.run_id))
      FROM told t
      LEFT JOIN order_sweep.journal j ON j.run_id = t.run
     GROUP BY t.run, t.swept, t.unknown
    HAVING count(j.run_id) NOT BETWEEN t.swept AND t.swept + t.unknown

    UNION ALL
    SELECT 'exit code and report differ',
           format('actor %s, step %s: ended with %s, %s',
                  actor, step, status, report)
      FROM storm.run
     WHERE status >= 0 AND report IS NOT NULL
       AND ((report->>'exit')::int NOT IN (0, 1, 69, 75)
            OR status = 0 AND (report->>'exit')::int <> 0
            OR status = 0 AND (report->>'stopped') = 'lost')

    -- From its lock on, without the time it took to connect.
    UNION ALL
    SELECT 'run longer than its hard limit and two seconds',
           format('actor %s, step %s: %s s, hard limit %s ms, stopped %s ms',
                  actor, step, report->>'seconds', hard_ms, stopped_ms)
      FROM storm.run
     WHERE (report->>'seconds')::numeric * 1000 > hard_ms + stopped_ms + 2000
)
SELECT format('%s: %s%s', name, min(detail),
              CASE WHEN count(*) > 1
                   THEN format(' (and %s more)', count(*) - 1) END)
  FROM broken
 GROUP BY name
 ORDER BY name;
