#!/bin/bash
# retry: failed orders are tried again at once, and what was known of them is
# told.  late: orders that were paid after they were swept.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

# written TEXT: this is on stdout, and nothing on stderr.
written()
{
    is stdout "$1" "$(sed -E 's/20[0-9-]+ [0-9:]+\+00/MOMENT/g' "$out")"
    is stderr '' "$(cat "$err")"
}

failures='SELECT count(*) FROM order_sweep.failure'

new_shop attention 20 4
run 0

# --- retry -------------------------------------------------------------------

run 0 retry
written 'no failed order waits'
run 0 retry --format json
silent

# Three orders fail, one of them for the tenth time.
place 3 '1 hour'
first=$(due_order 1)
sql <<'SQL'
CREATE FUNCTION shop.fail() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN RAISE 'no stock of %', E'\033[1mthis'; END $$;
CREATE TRIGGER fail BEFORE UPDATE ON shop.orders FOR EACH ROW
EXECUTE FUNCTION shop.fail();
SQL
run 1
sql -c "UPDATE order_sweep.failure SET attempts = 9, next_try = now()
         WHERE order_key = jsonb_build_array($first)"
run 1
value '3 1' "SELECT concat_ws(' ', count(*), count(*) FILTER (WHERE quarantined))
    FROM order_sweep.failure"
sql -c 'DROP TRIGGER fail ON shop.orders'
# They wait for their next try, and one for a person.
run 0
silent
value 3 "$failures"

# One by its key.  What an error holds does not reach the terminal.
run 0 retry "$first"
written "cancel_unpaid: order $first, quarantined: attempts 10, last MOMENT: \
no stock of [1mthis (SQLSTATE P0001)
orders that the next run tries again: 1"
value 2 "$failures"
run 0 retry "$first"
written 'no failed order waits'
run 0
silent
value 3 "SELECT order_status FROM shop.orders WHERE id = $first"

# All of them.
run 0 retry --format json
value "2 cancel_unpaid 1 false P0001" "SELECT concat_ws(' ', count(*),
        min(l->>'sweep'), min(l->>'attempts'), min(l->>'quarantined'),
        min(l->>'sqlstate'))
    FROM string_to_table(\$json\$$(cat "$out")\$json\$, E'\n') t(line),
         CAST(line AS jsonb) l
    WHERE jsonb_array_length(l->'key') = 1"
value 0 "$failures"
run 0
silent
invariants

# What is no key, and which sweep it is of.
run 64 retry abc
says_like 'cancel_unpaid: invalid input syntax for type bigint: "abc"; *'
run 64 retry 1 2
says_like 'cancel_unpaid: key: the key of cancel_unpaid is id; *'
run 64 retry $'\377'
says 'cancel_unpaid: the key is no UTF-8 text; give it in UTF-8'
run 78 retry --sweep nothing
says_like '--sweep: "nothing" is not defined in this database; *'
sql -o /dev/null <<'SQL'
CREATE TABLE shop.hint (id bigint, at timestamptz, state text,
                        PRIMARY KEY (id, at));
SELECT order_sweep.define(
    sweep => 'another', orders => 'shop.hint', key => '{id, at}',
    unpaid => $$o.state = 'new'$$, deadline => 'at', max_age => '9999 days',
    set => $$state = 'old'$$);
SQL
run 64 retry 1
says_like 'retry: there are 2 sweeps; say which with --sweep: another, *'

# A key of two columns, in whatever zone it is written.
sql <<'SQL'
INSERT INTO shop.hint VALUES (7, '2026-01-02 03:04:05+00', 'new');
CREATE TRIGGER fail BEFORE UPDATE ON shop.hint FOR EACH ROW
EXECUTE FUNCTION shop.fail();
SQL
run 1
value 1 "$failures"
sql -c 'DROP TRIGGER fail ON shop.hint'
run 0 retry --sweep another 7 '2026-01-02 04:04:05+00'
written 'no failed order waits'
run 0 retry --sweep another 7 '2026-01-02 05:04:05+02'
grep -q '^another: order 7, 2026-01-02T03:04:05+00:00: attempts 1, ' "$out" ||
    die 'the key is not shown'
value 0 "$failures"

# --- late --------------------------------------------------------------------

run 0 late
written 'another: not known: define it with paid'
run 0 late --sweep cancel_unpaid
written ''
run 0 late --format json
silent
sql -c "INSERT INTO shop.payment (order_id, amount, paid_at)
        VALUES ($first, 1, now())"
run 1 late
written "another: not known: define it with paid
cancel_unpaid: order $first is paid, and was swept MOMENT"
run 1 late --format json
value "cancel_unpaid [$first] t" "SELECT concat_ws(' ', l->>'sweep', l->>'key',
        (l->>'swept_at')::timestamptz <= now())
    FROM CAST(\$json\$$(cat "$out")\$json\$ AS jsonb) l"
run 0 late --sweep another
# One that cannot be looked at hides no other.
sql -c 'ALTER TABLE shop.hint RENAME state TO condition' \
    -c "UPDATE order_sweep.sweep SET paid = 'false' WHERE name = 'another'"
run 78 late
grep -q "^cancel_unpaid: order $first is paid" "$out" ||
    die 'one that fails hides the other'

# --- Who may -----------------------------------------------------------------

sql -c 'SET client_min_messages = warning' \
    -c 'DROP ROLE IF EXISTS osw_attention' -c 'CREATE ROLE osw_attention LOGIN' \
    -c "SELECT order_sweep.grant_read_to('osw_attention')"
run 1 late --sweep cancel_unpaid -U osw_attention
run 78 retry --sweep cancel_unpaid -U osw_attention
says_like 'cancel_unpaid: permission denied for function retry; *'
sql -c "SELECT order_sweep.grant_to('osw_attention')"
run 0 retry --sweep cancel_unpaid -U osw_attention
sql -c 'DROP OWNED BY osw_attention' -c 'DROP ROLE osw_attention'
