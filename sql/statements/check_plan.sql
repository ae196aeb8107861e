-- What the plan of a part means.  $1: sweep; $2: argument; $3: plan.
SELECT level, $1, item, what, why, mend
  FROM order_sweep.check_plan($1::text, $2::text, $3::json)
