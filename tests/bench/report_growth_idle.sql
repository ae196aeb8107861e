-- A line of growth.sh's table of idle runs; their times come on stdin.  What
-- the server did is in pg_stat_statements.

\set ON_ERROR_STOP on

CREATE TEMP TABLE idle (
    turn     int,
    command  text,
    seconds  float8,
    cpu      float8,
    peak_kib int
);
\copy idle from pstdin

WITH server AS (
    SELECT sum(total_plan_time) / (2 * :turns) AS planning,
           sum(total_exec_time) FILTER (WHERE toplevel) / (2 * :turns)
               AS execution
      FROM pg_stat_statements
     WHERE userid = 'cron'::regrole AND query NOT ILIKE 'select $1'
), client AS (
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY o.seconds) AS seconds,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY o.seconds / p.seconds)
               AS of_psql
      FROM idle o JOIN idle p USING (turn)
     WHERE o.command = 'own' AND p.command = 'psql'
)
SELECT format('| %s | %s | %s | %s | %s | %s |', :'state', :'blocks',
              to_char(planning, 'FM990.00'), to_char(execution, 'FM9990.00'),
              to_char(1e3 * seconds, 'FM9990.0'), to_char(of_psql, 'FM990.00'))
  FROM server, client;
