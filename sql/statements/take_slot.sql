-- Take a slot of a sweep, alone in its SELECT.  $1: id of the sweep; $2: how
-- many slots there are; $3: wait for one so many ms; $4: for the transaction
-- (true) or for the session; $5: who takes it, host and process.
SELECT order_sweep.take_slot($1::integer, $2::integer,
    make_interval(secs => $3::float8 / 1000), $4::boolean, $5::text)
