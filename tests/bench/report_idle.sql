-- The table of sweeps.sh's idle runs, whose lines come on stdin.

\set ON_ERROR_STOP on

CREATE TEMP TABLE idle (
    turn     int,
    command  text,
    files    text,
    seconds  float8,
    cpu      float8,
    peak_kib int
);
\copy idle from pstdin

\qecho | Command | Wall time, ms | of psql | of the packaged psql | CPU, ms | Peak memory, MiB | Files opened |
\qecho |---|---|---|---|---|---|---|

WITH beside AS (
    SELECT i.*, i.seconds / own.seconds AS of_own,
           i.seconds / packaged.seconds AS of_packaged
      FROM idle i
      JOIN idle own ON own.turn = i.turn AND own.command = 'psql'
      JOIN idle packaged ON packaged.turn = i.turn
       AND packaged.command LIKE '/%'
)
SELECT format('| `%s` | %s (%s..%s) | %s | %s | %s | %s | %s |',
              command || CASE WHEN command LIKE '%psql'
                              THEN ' -XAtc ''select 1''' ELSE '' END,
              to_char(1e3 * percentile_cont(0.5)
                  WITHIN GROUP (ORDER BY seconds), 'FM9990.00'),
              to_char(1e3 * min(seconds), 'FM9990.00'),
              to_char(1e3 * max(seconds), 'FM9990.00'),
              to_char(percentile_cont(0.5)
                  WITHIN GROUP (ORDER BY of_own), 'FM990.00'),
              to_char(percentile_cont(0.5)
                  WITHIN GROUP (ORDER BY of_packaged), 'FM990.00'),
              to_char(1e3 * percentile_cont(0.5)
                  WITHIN GROUP (ORDER BY cpu), 'FM9990.00'),
              to_char(max(peak_kib) / 1024.0, 'FM9990.0'),
              files)
  FROM beside
 GROUP BY command, files
 ORDER BY command;
