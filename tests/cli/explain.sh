#!/bin/bash
# order-sweep explain: each verdict, with what it rests on.
set -euo pipefail

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
# shellcheck source=tests/support/steps.sh
. "$ORDER_SWEEP_SOURCE/tests/support/steps.sh"

reader=explain_reader_$$
nobody=explain_nobody_$$
new_shop explain
new_role "$reader"
new_role "$nobody"
change "SELECT FROM order_sweep.grant_read_to('$reader')"

# parts: what explain said, a line a part: what|value.
parts()
{
    printf '%s\n' "$out" | awk '/^[^ ]/ { what = $0; next }
        { sub(/^    /, ""); print what "|" $0 }'
}

# explains WHAT VERDICT KEY...
explains()
{
    runs 0 explain "${@:3}"
    is "$1" "$(parts | tail -n 1)" "verdict|$2"
    is "$1: no message" "$err" ''
}

# --- One order from its beginning to its end ---------------------------------

order=$(place '29 minutes')
explains 'not due yet' 'not swept: not due yet' "$order"
change "ALTER TABLE shop.orders ALTER created DROP NOT NULL;
    UPDATE shop.orders SET created = NULL WHERE id = $order"
explains 'no integer clock' 'not swept: no clock' "$order"
is 'no integer clock: its parts' "$(parts | sed -n '2,4p')" 'since: created|NULL
due from|NULL
due|false'
change "UPDATE shop.orders SET created = 1700000000 WHERE id = $order"
explains 'too old' 'kept: too old' "$order"
is 'each part with its value' "$(parts)" "unpaid: o.order_status = 1|true
since: created|2023-11-14 22:13:20+00
due from|2023-11-14 22:43:20+00
due|true
too old|true
unless \"payment received\": EXISTS (SELECT FROM shop.payment p WHERE p.order_id = o.id)|false
verdict|kept: too old"
runs 0 explain --format=json "$order"
is 'as JSON' "$(printf '%s\n' "$out" | sed -n '1p; $p')" \
    '{"what":"unpaid: o.order_status = 1","value":"true"}
{"what":"verdict","value":"kept: too old"}'
change "UPDATE shop.orders SET created = floor(extract(epoch FROM now()))::bigint
    - 1860 WHERE id = $order"
explains 'due' 'the next run sweeps it' "$order"
change "SELECT FROM order_sweep.pause('cancel_unpaid')"
explains 'due, but paused' 'not swept: the sweep is paused' "$order"
change "SELECT FROM order_sweep.resume('cancel_unpaid')"
change "INSERT INTO shop.payment (order_id, amount) VALUES ($order, 1)"
explains 'kept by a rule' 'kept: payment received' "$order"
is 'the rule' "$(parts | grep '^unless' | sed 's/.*|//')" true
change "UPDATE shop.orders SET order_status = 2 WHERE id = $order"
explains 'paid' 'not swept: not unpaid' "$order"
is 'no longer unpaid' "$(parts | grep '^unpaid')" 'unpaid: o.order_status = 1|false'
change "DELETE FROM shop.payment; UPDATE shop.orders SET order_status = 1
    WHERE id = $order"

change "CREATE FUNCTION shop.refuses() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN RAISE EXCEPTION \$\$not today\$\$; END'"
change "CREATE TRIGGER refuses BEFORE UPDATE ON shop.goods FOR EACH ROW
    EXECUTE FUNCTION shop.refuses()"
runs 1
next=$(ask 'SELECT next_try FROM order_sweep.failure')
explains 'back-off' "not swept: back-off until $next" "$order"
is 'the last error' "$(parts | sed -n 's/, the last at .*/)/; /^last/p')" \
    'last failure|P0001: not today (1 attempt)'
change 'UPDATE order_sweep.failure SET quarantined = true, attempts = 10'
explains 'quarantined' 'not swept: quarantined' "$order"
change "UPDATE order_sweep.failure SET quarantined = false,
    next_try = now() - interval '1 second'"
explains 'a failure that may be tried again' 'the next run sweeps it' "$order"
change 'DROP TRIGGER refuses ON shop.goods'
runs 0
explains 'swept' "swept by run $(ask 'SELECT max(id) FROM order_sweep.run')" \
    "$order"
is 'its journal' "$(parts | sed -n 's/^swept|.* by run/by run/p')" \
    "by run $(ask 'SELECT max(id) FROM order_sweep.run'), event $(ask \
    "SELECT payload FROM order_sweep.journal")"
change "UPDATE shop.orders SET order_status = 1 WHERE id = $order"
explains 'swept before' 'kept: swept before' "$order"
change "DELETE FROM shop.order_line; DELETE FROM shop.orders"
explains 'gone' 'there is no such order' "$order"
is 'gone, but swept once' "$(parts | grep -c '^swept|')" 1
explains 'never there' 'there is no such order' 4711
before=$(fingerprint)
explains 'nothing changes' 'there is no such order' "$order"
is 'nothing changed' "$(fingerprint)" "$before"

# --- Keys --------------------------------------------------------------------

usage()
{
    runs 64 explain "${@:2}"
    is "explain ${*:2}" "$out|$err" "|order-sweep: $1"
}
mend="give the key's columns in order"
usage "invalid input syntax for type bigint: \"x\"; $mend" x
usage "invalid input syntax for type bigint: \"\"; $mend" ''
usage "invalid input syntax for type bigint: \"1; DROP TABLE shop.orders\"; $mend" \
    '1; DROP TABLE shop.orders'
usage "invalid input syntax for type bigint: \"x') OR true --\"; $mend" \
    "x') OR true --"
usage "value \"99999999999999999999\" is out of range for type bigint; $mend" \
    99999999999999999999
usage "key: the key of cancel_unpaid is id; $mend" 1 2
explains 'a negative number' 'there is no such order' -- -1

# A second sweep, of a key of three columns, text among them.
sql -f - <<'SQL'
CREATE TABLE shop.parts ("Region" text, code char(4), n bigint, state text,
    at timestamptz, limits text, PRIMARY KEY ("Region", code, n));
INSERT INTO shop.parts VALUES
    ('a, "b"', 'x', 1, 'open', now() - interval '2 h', '1'),
    ('it''s \ {1}', 'long', 9223372036854775807, 'open', NULL, '1'),
    ('', '', -1, 'open', now() - interval '2 h', '1'),
    (E'Größe\n2', 'x', 1, 'open', now(), '1');
SELECT order_sweep.define(sweep => 'parts', orders => 'shop.parts',
    key => '{Region,code,n}', unpaid => $$state = 'open' -- waits$$,
    since => 'at', after => '1 hour', set => $$state = 'closed'$$,
    unless => '{"limited": "limits::int > 1"}');
SQL
usage 'explain: there are 2 sweeps; say which with --sweep: cancel_unpaid, parts' \
    "$order"
usage "key: the key of parts is Region, code, n; $mend" --sweep=parts 1
usage 'explain: no key; write order-sweep explain KEY, a word for each column of the key' \
    --sweep=parts
runs 78 explain --sweep=none 1
is 'an unknown sweep' "$err" 'order-sweep: --sweep: "none" is not defined in this database; defined are: cancel_unpaid, parts'
explains 'a key of three columns' 'the next run sweeps it' --sweep=parts \
    'a, "b"' x 1
explains 'no clock' 'not swept: no clock' --sweep=parts "it's \\ {1}" long \
    9223372036854775807
is 'no clock: its parts' "$(parts | sed -n '2,4p')" 'since: at|NULL
due from|NULL
due|false'
for never in 'infinity|never due' '-infinity|no clock'; do
    change "UPDATE shop.parts SET at = '${never%|*}' WHERE code = 'long'"
    explains "${never%|*}" "not swept: ${never#*|}" --sweep=parts "it's \\ {1}" \
        long 9223372036854775807
done
change "UPDATE shop.parts SET at = NULL WHERE code = 'long'"
explains 'a key with a line break' 'not swept: not due yet' --sweep=parts \
    $'Größe\n2' x 1
explains 'padded as the column has it' 'the next run sweeps it' --sweep=parts \
    'a, "b"' 'x   ' 1
explains 'another case is another key' 'there is no such order' --sweep=parts \
    'A, "b"' x 1
change "UPDATE shop.parts SET limits = 'many' WHERE n = -1"
runs 78 explain --sweep=parts -- '' '' -1
raises='order-sweep: parts: unless "limited": invalid input syntax for type integer: "many"'
is 'a rule that raises' "${err%%;*}" "$raises"
is 'a rule that raises hides no other part' "$(parts | sed -E 's/\|2[0-9:. +-]+/|…/')" \
    "unpaid: state = 'open' -- waits|true
since: at|…
due from|…
due|true
too old|false
unless \"limited\": limits::int > 1|error: invalid input syntax for type integer: \"many\"
verdict|error: invalid input syntax for type integer: \"many\""

# It stops the sweep for all, and so is the reason for all.
runs 78 explain --sweep=parts 'a, "b"' x 1
is 'another order' "${err%%;*}" "$raises"
is 'another order: its verdict' "$(parts | tail -n 1)" \
    "verdict|not swept: ${raises#*parts: }"
runs 78 explain --format=json --sweep=parts 'a, "b"' x 1
is 'as JSON' "$(printf '%s\n' "$out" | tail -n 2 | sed 's/.*"exit":78/{"exit":78/')" \
    '{"what":"verdict","value":"not swept: unless \"limited\": invalid input syntax for type integer: \"many\""}
{"exit":78,"error":"unless \"limited\": invalid input syntax for type integer: \"many\""}'
change "SELECT FROM order_sweep.pause('parts')"
runs 78 explain --sweep=parts -- '' '' -1
is 'paused: nobody else has looked' "$err" 'order-sweep: parts: invalid input syntax for type integer: "many"; order-sweep check says what does not fit'
change "SELECT FROM order_sweep.resume('parts');
    UPDATE shop.parts SET limits = '1' WHERE n = -1"

# --- Who may ask -------------------------------------------------------------

PGUSER=$reader explains 'a role with grant_read_to' 'the next run sweeps it' \
    --sweep=parts 'a, "b"' x 1
PGUSER=$nobody runs 78 explain --sweep=parts 'a, "b"' x 1
is 'a role without' "$err" 'order-sweep: permission denied for schema order_sweep; let the owner of schema order_sweep run order-sweep check --role NAME: it names the missing right; order_sweep.grant_to(role) gives those on order_sweep'
is 'the sessions zone changes nothing' "$(PGTZ=Asia/Tokyo "$ORDER_SWEEP_BIN" \
    explain --sweep=parts 'a, "b"' x 1 | md5sum)" \
    "$(PGTZ=America/Los_Angeles "$ORDER_SWEEP_BIN" explain --sweep=parts \
    'a, "b"' x 1 | md5sum)"
change 'ALTER TABLE shop.parts RENAME COLUMN state TO status'
# Not for the order alone: it is what a run says.
runs 78 explain --sweep=parts 'a, "b"' x 1
is 'a definition that no longer fits' "$err" 'order-sweep: parts: column "state" does not exist; look for a column that was renamed or dropped'
is 'its verdict' "$(parts | tail -n 1)" \
    'verdict|error: column "state" does not exist'
is 'what does fit is told' "$(parts | grep -c '^due|true')" 1
finish
