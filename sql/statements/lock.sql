-- A lock of a sweep, alone in its SELECT, for the session.  $1: id of the
-- sweep; $2: number of a slot, or 0: that of the sweep itself; $3: shared.
SELECT CASE WHEN $3::boolean
            THEN pg_try_advisory_lock_shared(1869838192 + $2::integer, $1::integer)
            ELSE pg_try_advisory_lock(1869838192 + $2::integer, $1::integer) END
