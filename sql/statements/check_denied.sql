-- What lets a role run a part that it was denied.  $1: role; $2: statement; $3:
-- the message that denied it.
SELECT order_sweep.check_denied($1::text, $2::text, $3::text)
