-- Close the run's row.  $1: run id; $2: why it ended; $3: is a rest left; $4,
-- $5, $6: how late were half of the orders swept, 99 % and all at most; $7..:
-- swept, kept, locked, changed, gone, failed, unknown.
SELECT order_sweep.finish_run($1::bigint, $2::text, $3::boolean, $4::interval,
    $5::interval, $6::interval, $7::bigint, $8::bigint, $9::bigint,
    $10::bigint, $11::bigint, $12::bigint, $13::bigint)
