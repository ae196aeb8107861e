-- Who works on the sweeps, holds a slot or waits for one: a row each, one
-- without a slot for a sweep that nobody holds.  $1: name of the sweep (NULL:
-- all).  A caller who may not see a session learns of its process only.
SELECT p.name, p.paused, p.due, date_trunc('second', p.next_deadline),
       p.error_message,
       CASE n.number WHEN 0 THEN 0 ELSE (n.number - 1) % 16 + 1 END,
       CASE n.number WHEN 0 THEN 0 ELSE (n.number - 1) / 16 + 1 END,
       NOT l.granted,
       coalesce(a.words[1], r.host), coalesce(a.words[2], r.pid::text),
       coalesce(a.words[3] || ' ' || a.words[4] || '+00',
                date_trunc('second', coalesce(r.started_at, l.waitstart))::text),
       l.pid, a.usename
  FROM order_sweep.probe($1::text, NULL) p
  LEFT JOIN pg_locks l ON l.locktype = 'advisory' AND l.objsubid = 2
   AND l.objid = p.id::oid
   AND l.classid::bigint BETWEEN 1869838192 AND 1869838192 + 16 * 16
   AND l.database = (SELECT d.oid FROM pg_database d
                      WHERE d.datname = current_database())
  LEFT JOIN LATERAL (
      SELECT l.classid::bigint - 1869838192) AS n(number) ON true
  LEFT JOIN LATERAL (
      -- anybody may write this into a session of his own
      SELECT t.usename, regexp_match(t.application_name,
                 '^order-sweep (\S+) (\d{1,9}) since '
                 '(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)Z$') AS words
        FROM pg_stat_activity t WHERE t.pid = l.pid) a ON true
  -- A run without a slot says who it is in the row that it has opened.
  LEFT JOIN order_sweep.last_runs() r
    ON r.sweep_id = p.id AND r.ended_at IS NULL
   AND l.classid::bigint = 1869838192
 ORDER BY p.name, l.classid, l.granted DESC, l.pid
