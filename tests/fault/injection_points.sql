-- One cell of the matrix of injection_points.sh: did the run that met a fault,
-- and the plain run after it, tell the truth? Prints the cell, how many orders
-- told as swept were undone, and what is wrong.
--
-- first, err, code: the report (empty: none), the messages and the exit code
-- of the run that met the fault; died: it could not report; plain, plain_code:
-- report and exit code of the plain run after it; last: the last run before
-- both; due, bad: how many orders were due, and of these how many fail;
-- batch: --durability was that; crash: the server died.

WITH told AS (
    SELECT nullif(:'first', '')::jsonb AS first, nullif(:'plain', '')::jsonb AS plain
), first AS (
    SELECT r.*, (first ->> 'exit')::int AS exit_told
      FROM told, jsonb_populate_record(NULL::order_sweep.run, first - 'run') r
), plain AS (
    SELECT (plain ->> 'run')::bigint AS run, (plain ->> 'exit')::int AS exit_told,
           r.stopped, r.rest, r.swept, r.failed,
           r.kept + r.locked + r.changed + r.gone + r.unknown AS others
      FROM told, jsonb_populate_record(NULL::order_sweep.run, plain - 'run') r
), journal AS (
    SELECT count(*) FILTER (WHERE j.run_id IS DISTINCT FROM plain.run) AS first,
           count(*) FILTER (WHERE j.run_id = plain.run) AS plain
      FROM plain LEFT JOIN order_sweep.journal j ON j.run_id > :last
), book AS (
    -- What the books say of the run that met the fault; it may have none.
    SELECT r.*
      FROM told JOIN order_sweep.run r ON r.id = (told.first ->> 'run')::bigint
     WHERE told.plain ->> 'run' IS DISTINCT FROM told.first ->> 'run'
), problem (text) AS (

    -- The first run

    SELECT format('report: %s swept, journal: %s', f.swept, j.first)
      FROM first f, journal j
     WHERE f.swept > j.first
       AND NOT (f.stopped = 'lost' AND :'batch' AND :'crash')

    UNION ALL
    SELECT format('report: %s swept, %s unknown; journal: %s',
                  f.swept, f.unknown, j.first)
      FROM first f, journal j
     WHERE j.first > f.swept + f.unknown

    UNION ALL
    SELECT format('no report of %s orders', j.first)
      FROM told, journal j
     WHERE told.first IS NULL AND NOT :'died' AND j.first > 0

    UNION ALL
    SELECT format('%s failed, and %s kept, locked, changed or gone',
                  failed, kept + locked + changed + gone)
      FROM first
     WHERE failed > :bad OR kept + locked + changed + gone > 0

    UNION ALL
    SELECT format('%s orders told, %s due', swept + failed + unknown, :due)
      FROM first
     WHERE swept + failed + unknown > :due

    UNION ALL
    SELECT format('exit code %s, told %s', :code, exit_told)
      FROM first
     WHERE exit_told <> :code AND NOT :'died'

    UNION ALL
    SELECT format('exit code %s after "%s", %s failed, %s unknown',
                  :code, stopped, failed, unknown)
      FROM first
     WHERE stopped IS NOT NULL AND NOT :'died'
       AND :code <> CASE WHEN stopped = 'lost' THEN 69
                         WHEN failed + unknown > 0 THEN 1
                         ELSE 0 END

    UNION ALL
    SELECT format('exit code %s without a word', :code)
     WHERE :code = 69 AND :'err' = ''

    UNION ALL
    SELECT format('"%s" without a rest, %s swept by the plain run',
                  f.stopped, j.plain)
      FROM first f, journal j
     WHERE NOT f.rest AND j.plain > 0

    UNION ALL
    SELECT format('%s unknown, on stderr: %s', unknown, said)
      FROM first, substring(
           :'err' FROM 'outcome of (\d+) orders? is unknown') AS said
     WHERE nullif(unknown, 0) IS DISTINCT FROM said::bigint

    UNION ALL
    SELECT format('%s not known to be durable, on stderr: %s', swept, said)
      FROM first, substring(
           :'err' FROM '(\d+) (?:order was|orders were) swept, but') AS said
     WHERE said::bigint IS DISTINCT FROM CASE
               WHEN stopped = 'lost' AND :'batch' THEN nullif(swept, 0)
           END

    UNION ALL
    SELECT format('report: %s %s %s %s; books: %s %s %s %s',
                  f.swept, f.failed, f.unknown, f.stopped,
                  b.swept, b.failed, b.unknown, b.stopped)
      FROM first f, book b
     WHERE CASE WHEN b.ended_at IS NULL THEN f.stopped <> 'lost'
                ELSE (f.swept, f.failed, f.unknown)
                     <> (b.swept, b.failed, b.unknown)
                     OR f.stopped NOT IN ('lost', b.stopped) END

    -- The plain run

    UNION ALL
    SELECT format('plain run: exit code %s, told %s', :plain_code, exit_told)
      FROM plain
     WHERE exit_told IS DISTINCT FROM :plain_code
        OR :plain_code <> CASE WHEN failed > 0 THEN 1 ELSE 0 END

    UNION ALL
    SELECT format('plain run: %s swept, journal: %s; %s failed, %s others; %s',
                  p.swept, j.plain, p.failed, p.others, p.stopped)
      FROM plain p, journal j
     WHERE p.run IS NOT NULL
       AND (p.swept <> j.plain OR p.failed > :bad OR p.others > 0
            OR p.rest OR p.stopped <> 'done')

    UNION ALL
    SELECT format('plain run: %s', stopped)
      FROM plain
     WHERE run IS NULL AND stopped <> 'nothing to sweep'

    -- Both

    UNION ALL
    SELECT format('swept in all: %s of %s', j.first + j.plain, :due - :bad)
      FROM journal j
     WHERE j.first + j.plain <> :due - :bad

    UNION ALL
    SELECT format('still due: %s', count(*))
      FROM order_sweep.cancel_unpaid_due(NULL)
     WHERE state = 'sweep'
    HAVING count(*) > 0

    UNION ALL
    SELECT format('%s failures booked, %s attempts; %s orders fail',
                  count(*), coalesce(sum(attempts), 0), :bad)
      FROM order_sweep.failure
    HAVING count(*) <> :bad OR coalesce(sum(attempts), 0) <> :bad
)
SELECT format('%s %s', :code, CASE
           WHEN told.first ->> 'run' IS NULL THEN format('-/%s', j.first)
           ELSE format('%s+%s/%s', f.swept, f.unknown, j.first) END),
       greatest(f.swept - j.first, 0),
       (SELECT string_agg(text, '; ') FROM problem)
  FROM told, first f, journal j;
