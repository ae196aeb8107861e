-- What a monitoring system is told of a sweep.

CREATE OR REPLACE FUNCTION order_sweep.total_words(what text)
RETURNS text[] LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE what
        WHEN 'orders' THEN '{swept,kept,locked,changed,gone,failed,unknown}'
        WHEN 'runs' THEN '{done,max orders,time limit,hard limit,signal,'
                         'failures,broken,other}'
        END::text[]
$$;
COMMENT ON FUNCTION order_sweep.total_words IS
    'the words under which orders or runs are counted';

CREATE OR REPLACE FUNCTION order_sweep.metrics(sweep text)
RETURNS TABLE (name text, type text, help text, label text, word text,
               value text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET extra_float_digits = 1
AS $$
#variable_conflict use_column
DECLARE
    s order_sweep.sweep;
    r order_sweep.run;
    _most int := 100000;
    _now record;
    _events record;
BEGIN
    SELECT * INTO s FROM order_sweep.sweep d
     WHERE d.id = order_sweep.known(metrics.sweep);
    _now := order_sweep.situation(s, _most);
    SELECT * INTO _events FROM order_sweep.events(s.name, _most);
    SELECT * INTO r FROM order_sweep.run x
     WHERE x.sweep = s.name AND x.ended_at IS NOT NULL
     ORDER BY x.id DESC LIMIT 1;
    -- Always the same rows, in the same order; NULL: not known.
    RETURN QUERY
    SELECT 'order_sweep_' || m.what || '_total', 'counter', m.help, m.label,
           w.word, coalesce(t.number, 0)::text
      FROM (VALUES (1, 'orders', 'outcome',
                    'Orders that runs looked at, by what became of them.'),
                   (2, 'runs', 'stopped',
                    'Runs that had work, by why they ended.'))
               AS m(n, what, label, help)
     CROSS JOIN unnest(order_sweep.total_words(m.what))
                    WITH ORDINALITY AS w(word, n)
      LEFT JOIN order_sweep.total t
        ON t.sweep = s.name AND t.what = m.what AND t.word = w.word
     ORDER BY m.n, w.n;
    RETURN QUERY
    SELECT 'order_sweep_' || m.name, 'gauge', m.help, m.label, m.word,
           m.value::float8::text
      FROM (VALUES
        ('backlog_orders', 'Orders that a run would sweep now; of more than '
         || _most || ' so many.', NULL, NULL, _now.orders),
        ('overdue_seconds', 'How long the oldest of these is overdue.', NULL, NULL,
         CASE WHEN NOT _now.look_failed
              THEN coalesce(extract(epoch FROM _now.overdue), 0) END),
        ('backoff_orders', 'Orders that failed and wait for their next try.',
         NULL, NULL, _now.backoff),
        ('quarantined_orders', 'Orders that failed ten times and are tried no '
         'more.', NULL, NULL, _now.quarantined),
        ('last_lateness_seconds', 'From its deadline to its commit an order of '
         'the last run that had work took at most so long, by percentile.',
         'percentile', '50', extract(epoch FROM r.late_p50)),
        ('last_lateness_seconds', '', 'percentile', '99',
         extract(epoch FROM r.late_p99)),
        ('last_lateness_seconds', '', 'percentile', '100',
         extract(epoch FROM r.late_max)),
        ('last_work_timestamp_seconds', 'When the last run that had work ended.',
         NULL, NULL, extract(epoch FROM r.ended_at)),
        ('next_deadline_timestamp_seconds', 'The next deadline of an order that '
         'is not due yet.', NULL, NULL, extract(epoch FROM _now.deadline)),
        ('paused', '1 if the sweep is paused, else 0.', NULL, NULL,
         s.paused::int),
        ('look_failed', '1 if the orders could not be looked at, or not in time, '
         'so that nothing is known of them; else 0.', NULL, NULL,
         _now.look_failed::int),
        ('events_waiting', 'Events that a relay has to publish; of more than '
         || _most || ' so many.', NULL, NULL, _events.events),
        ('events_oldest_seconds', 'How long the oldest of these waits.', NULL,
         NULL, extract(epoch FROM _events.age)),
        ('events_refused', 'Events that the command refused, and that wait for '
         'their next try.', NULL, NULL, _events.backoff),
        ('events_parked', 'Events that the command refused ten times and that '
         'are tried no more.', NULL, NULL, _events.parked)
      ) AS m(name, help, label, word, value);
END $$;
COMMENT ON FUNCTION order_sweep.metrics IS
    'what monitoring is told of a sweep: counters of all runs there were, and '
    'its present state; the same rows for each sweep';
