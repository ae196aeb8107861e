-- The load that the storm (storm.sh) held, for people.

\pset format unaligned
\pset tuples_only on
\pset fieldsep ', '

SELECT format('%s %s (%s/s)', lpad(n::text, 7), what, round(n::numeric / :seconds, 1))
  FROM (SELECT (SELECT count(*) FROM shop.orders), 'orders placed'
        UNION ALL
        SELECT (SELECT count(*) FROM shop.orders WHERE order_status = 2),
               'paid'
        UNION ALL
        SELECT (SELECT count(*) FROM shop.orders WHERE order_status = 3),
               'swept'
        UNION ALL
        SELECT (SELECT count(*) FROM shop.orders WHERE order_status = 4),
               'cancelled by hand'
        UNION ALL
        SELECT (SELECT count(DISTINCT (actor, step)) FROM storm.run),
               'runs') t (n, what);

\echo
SELECT format('actions (done, refused, locked out, session lost): %s',
              string_agg(text, '; ' ORDER BY action))
  FROM (SELECT action,
               format('%s %s %s %s %s', action,
                      count(*) FILTER (WHERE result = 'done'),
                      count(*) FILTER (WHERE result = 'refused'),
                      count(*) FILTER (WHERE result = 'busy'),
                      count(*) FILTER (WHERE result IN ('lost', 'unknown')))
          FROM storm.action GROUP BY action) t (action, text);
SELECT format('runs ended: %s', string_agg(text, '; ' ORDER BY status DESC))
  FROM (SELECT status,
               format(CASE WHEN status < 0 THEN 'by signal %s %s'
                           ELSE 'with %s %s' END,
                      abs(status), count(DISTINCT (actor, step)))
          FROM storm.run GROUP BY status) t (status, text);
SELECT format('runs that met: %s', string_agg(text, '; ' ORDER BY fate))
  FROM (SELECT fate, format('%s %s', fate, count(DISTINCT (actor, step)))
          FROM storm.run WHERE met GROUP BY fate) t (fate, text);
SELECT format('runs with work %s, that found the lock taken %s, longest %s s, '
              'most over its hard limit %s s',
              count(*) FILTER (WHERE report->>'run' IS NOT NULL),
              count(*) FILTER (WHERE report->>'stopped' = 'busy'),
              round(max(took_ms) / 1000.0, 1),
              round(max(took_ms - hard_ms - stopped_ms) / 1000.0, 1))
  FROM storm.run;
SELECT format('sessions ended %s, server restarts: %s fast, %s immediate; '
              'swept, but undone by a crash: %s',
              (SELECT count(*) FROM storm.action WHERE action ~ '^end session'),
              (SELECT count(*) FROM storm.restart WHERE mode = 'fast'),
              (SELECT count(*) FROM storm.restart WHERE mode = 'immediate'),
              (SELECT coalesce(sum(greatest(swept - journal, 0)), 0)
                 FROM (SELECT (report->>'swept')::bigint AS swept,
                              (SELECT count(*) FROM order_sweep.journal j
                                WHERE j.run_id = (report->>'run')::bigint)
                              AS journal
                         FROM storm.run WHERE report->>'run' IS NOT NULL) t));
