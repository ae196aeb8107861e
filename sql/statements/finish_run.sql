-- Close the run's row.  $1: run id; $2: why it ended; $3: is a rest left;
-- $4..: swept, kept, locked, changed, gone, failed, unknown.
SELECT order_sweep.finish_run($1::bigint, $2::text, $3::boolean, $4::bigint,
    $5::bigint, $6::bigint, $7::bigint, $8::bigint, $9::bigint, $10::bigint)
