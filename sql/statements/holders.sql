-- Who works on a sweep, holds a slot of it or waits for one.  $1: id of the
-- sweep.  A caller who may not see a session learns of its process only.
SELECT CASE n.number WHEN 0 THEN 0 ELSE (n.number - 1) % 16 + 1 END,
       CASE n.number WHEN 0 THEN 0 ELSE (n.number - 1) / 16 + 1 END,
       NOT l.granted,
       coalesce(a.words[1], r.host), coalesce(a.words[2], r.pid::text),
       coalesce(a.words[3] || ' ' || a.words[4] || '+00',
                date_trunc('second', coalesce(r.started_at, a.backend_start,
                                              l.waitstart))::text),
       l.pid, a.usename
  FROM pg_locks l
 CROSS JOIN LATERAL (
      SELECT l.classid::bigint - 1869838192) AS n(number)
  LEFT JOIN LATERAL (
      -- anybody may write this into a session of his own
      SELECT t.usename, t.backend_start, regexp_match(t.application_name,
                 '^order-sweep (\S+) (\d{1,9})(?: since '
                 '(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)Z)?$') AS words
        FROM pg_stat_activity t WHERE t.pid = l.pid) a ON true
  -- A run without a slot says since when in the row that it has opened: not
  -- one that died, whose row stays open.
  LEFT JOIN order_sweep.last_runs() r
    ON r.sweep_id = $1::integer AND r.ended_at IS NULL AND n.number = 0
   AND l.granted
   AND coalesce(a.words[1:2] = ARRAY[left(r.host, 16), r.pid::text],
                r.started_at >= a.backend_start, true)
 WHERE l.locktype = 'advisory' AND l.objsubid = 2
   AND l.objid = $1::integer::oid
   AND l.classid::bigint BETWEEN 1869838192 AND 1869838192 + 16 * 16
   AND l.database = (SELECT d.oid FROM pg_database d
                      WHERE d.datname = current_database())
 ORDER BY l.classid, l.granted DESC, l.pid
