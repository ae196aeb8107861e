-- Give such a lock back.  $1: id of the sweep; $2: number of a slot, or 0: that
-- of the sweep itself; $3: shared.
SELECT CASE WHEN $3::boolean
            THEN pg_advisory_unlock_shared(1869838192 + $2::integer, $1::integer)
            ELSE pg_advisory_unlock(1869838192 + $2::integer, $1::integer) END
