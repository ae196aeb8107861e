#!/bin/bash
# The dry run: it lists what the next run sweeps, no more and no less, tells
# why the others stay, and changes nothing.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

before=$ORDER_SWEEP_TMP/before
list=$ORDER_SWEEP_TMP/list
role=osw_dry_run_$$
cleanup()
{
    drop_dbs
    sql -d postgres -c "DROP ROLE IF EXISTS $role"
}
trap cleanup EXIT

# listed WHAT: the keys listed with this state, in the order of the list.
listed()
{
    ask_lines "$list" "SELECT string_agg(l->>'key', ' ')
        FROM (SELECT l FROM line WHERE l->>'what' = '$1') t"
}

# A dry run of everything, as JSON, in $list.
list_all()
{
    run 0 --dry-run --format json --limit 1000000 "$@"
    is 'stderr of a dry run' '' "$(cat "$err")"
    cp "$out" "$list"
}

totals()
{
    ask_lines "$list" "SELECT string_agg(state || ' ' || n, '; ' ORDER BY state)
        FROM line, jsonb_each(l->'totals') AS t(state, n)"
}

new_shop dry 1000 20
sql -o /dev/null -c "CREATE ROLE $role LOGIN" \
    -c "SELECT order_sweep.grant_read_to('$role')"

# --- Every state -------------------------------------------------------------

# Two orders that hold money though they are unpaid, one older than 30 days,
# one three years old, two that wait for their next try, one given up.
sql -o /dev/null <<'SQL'
INSERT INTO shop.payment (order_id, amount)
SELECT id, 1 FROM shop.orders WHERE order_status = 1 ORDER BY created, id
OFFSET 20 LIMIT 2;
UPDATE shop.orders SET created = created - 31 * 86400
 WHERE id = (SELECT id FROM shop.orders WHERE order_status = 1
              ORDER BY created, id OFFSET 30 LIMIT 1);
UPDATE shop.orders SET created = created - 3 * 365 * 86400
 WHERE id = (SELECT id FROM shop.orders WHERE order_status = 1
              ORDER BY created, id OFFSET 40 LIMIT 1);
INSERT INTO order_sweep.failure
SELECT 'cancel_unpaid', jsonb_build_array(id), 1, 0,
       now() + interval '10 minutes' * CASE WHEN n = 53 THEN -1 ELSE 1 END,
       n = 54, 'P0001', 'test', now()
  FROM (SELECT id, row_number() OVER (ORDER BY created, id) AS n
          FROM shop.orders WHERE order_status = 1) t
 WHERE n BETWEEN 51 AND 54;
SQL

dump "$before"
list_all
is totals "back-off 2; keep: payment received 2; keep: too old 2; \
quarantined 1; sweep 493" "$(totals)"
is 'the number of lines' 501 "$(wc -l <"$list")"
oldest=$(sql -c 'SELECT id FROM shop.orders WHERE order_status = 1
                  ORDER BY created LIMIT 1')
is 'the oldest of all' "[$oldest]" \
    "$(ask_lines "$list" "SELECT l->'oldest'->'key' FROM line
        WHERE l ? 'oldest'")"
is 'rules' '["payment received", "too old"]' "$(ask_lines "$list" "
    SELECT jsonb_agg(DISTINCT l->'rule' ORDER BY l->'rule') FROM line
     WHERE l->>'what' = 'keep'")"
is 'rows that are none of these' 0 "$(ask_lines "$list" "
    SELECT count(*) FROM line
     WHERE NOT l ? 'totals'
       AND NOT (l->>'what' = 'keep') = (jsonb_typeof(l->'rule') = 'string')")"
is 'deadline and age beside since' t "$(ask_lines "$list" "
    SELECT bool_and((l->>'deadline')::timestamptz - (l->>'since')::timestamptz
                    = interval '30 minutes'
                    AND now() - (l->>'since')::timestamptz
                        - (l->>'age')::interval
                        BETWEEN interval '0' AND interval '1 minute')
      FROM line WHERE l ? 'deadline'")"

# As text.
run 0 --dry-run
cp "$out" "$list.text"
is 'the first line' 'cancel_unpaid: dry run, nothing is changed' \
    "$(head -n 1 "$out")"
is 'the totals' \
    "  total: 500 due; 493 sweep; 2 back-off; 2 keep: payment received; \
2 keep: too old; 1 quarantined" \
    "$(grep '^  total' "$out")"
is 'the size of the list' '  (100 of 500 rows; --limit lists more)' \
    "$(grep '^  (' "$out")"
is 'the default limit' 104 "$(sed '/^  (/d' "$out" | wc -l)"
grep -q "^  oldest: $oldest, due since 20[0-9-]* [0-9:]*+00$" "$out" ||
    die 'the oldest is not named'
run 0 --dry-run --limit 1
is 'rows with --limit 1' 1 "$(grep -c ' sweep$' "$out")"
run 0 --dry-run --limit 0
if grep -q ' sweep$' "$out"; then
    die 'rows with --limit 0'
fi
grep -q '^  total: 500 due; 493 sweep' "$out" || die 'no totals with --limit 0'
run 0 --dry-run --limit 0 --format json
is 'lines with --limit 0' 1 "$(wc -l <"$out")"
run 0 --dry-run --limit 500
for state in 'keep: payment received' 'keep: too old' back-off quarantined; do
    grep -q " $state\$" "$out" || die "no row says $state"
done
if grep -q 'lists more' "$out"; then
    die 'a whole list is called a part'
fi

# --- Another window ----------------------------------------------------------

# The number of orders as old as that, which may grow in the meantime.
as_old_as()
{
    sql -c "SELECT count(*) FROM shop.orders WHERE order_status = 1
            AND created <= extract(epoch FROM now() - interval '$1')"
}

due_under()
{
    local listed
    least=$(as_old_as "$1")
    list_all --window "$1"
    listed=$(ask_lines "$list" "SELECT l->>'due' FROM line WHERE l ? 'due'")
    most=$(as_old_as "$1")
    if [ "$listed" -lt "$least" ] || [ "$listed" -gt "$most" ]; then
        die "due under a window of $1: $listed, not $least to $most"
    fi
}

due_under 10m
[ "$least" -gt 500 ] || die 'a shorter window with nothing more'
due_under 12h
[ "$most" -lt 500 ] || die 'a longer window with nothing less'

# --- A role that may look, and nothing more ----------------------------------

list_all --username "$role"
is 'totals as a role that may look' 493 "$(ask_lines "$list" \
    "SELECT l->'totals'->>'sweep' FROM line WHERE l ? 'totals'")"
PGOPTIONS='-c default_transaction_read_only=on' \
    "$ORDER_SWEEP_BIN" --dry-run --username "$role" >"$out"
diff <(grep -v '^  [^(to]' "$out") <(grep -v '^  [^(to]' "$list.text") ||
    die 'another answer in a session that only reads'
run 78 --username "$role"
says_like 'cancel_unpaid: permission denied for function *'
unchanged "$before"

# --- What is listed is what is swept -----------------------------------------

list_all
announced=$(listed sweep)
run 0
silent
is 'the keys swept' "$announced" "$(sql -c "
    SELECT string_agg(order_key::text, ' ' ORDER BY created, id)
      FROM order_sweep.journal JOIN shop.orders
        ON jsonb_build_array(id) = order_key")"
list_all
is 'nothing to sweep' '' "$(listed sweep)"
is 'totals after the run' \
    "back-off 2; keep: payment received 2; keep: too old 2; quarantined 1" \
    "$(totals)"
# Whatever waits, the too old and the paid ones stay.
sql -c 'DELETE FROM order_sweep.failure'
run 0
silent
list_all
is 'totals in the end' 'keep: payment received 2; keep: too old 2' \
    "$(totals)"
run 0
invariants

# Re-opened: it is not swept a second time.
sql -o /dev/null -c "UPDATE shop.orders SET order_status = 1
    WHERE id = (SELECT (order_key->>0)::bigint
                  FROM order_sweep.journal LIMIT 1)"
list_all
is 'totals with an order opened again' \
    'keep: payment received 2; keep: swept before 1; keep: too old 2' \
    "$(totals)"
run 0
silent

# --- A table with orders due for three years ---------------------------------

new_shop dry_old 10 10
run 0
place 300 '3 years'
run 0 --dry-run
grep -q '^  total: 300 due; 300 keep: too old$' "$out" || die 'not too old'
dump "$before"
run 0
silent
run 0 --verbose
unchanged "$before"
invariants

# --- Keys of any kind --------------------------------------------------------

new_db dry_keys
run 0 migrate
sql -o /dev/null <<'SQL'
CREATE SCHEMA shop;
CREATE TABLE shop.odd (key text PRIMARY KEY, at timestamptz, state int);
INSERT INTO shop.odd
SELECT key, now() - interval '1 hour' - n * interval '1 minute', 1
  FROM unnest(ARRAY['plain', E'line\nbreak\ttab', E'\x1b[31mred\x1b[0m\x07',
                    'say "hi"', $$it's$$, 'back\slash', '{"a": [1]}',
                    'größe 数 🛒', ' ', '', E'\x7f\u0085\u202e', '%s%n', 'a, b'])
       WITH ORDINALITY AS t (key, n);
SELECT order_sweep.define(
    sweep => 'odd', orders => 'shop.odd', key => '{key}',
    unpaid => 'o.state = 1', since => 'at', after => '30 minutes',
    set => 'state = 2');
SQL
list_all
is 'the keys in JSON' 't' "$(ask_lines "$list" "
    SELECT (SELECT array_agg(l->'key'->>0 ORDER BY l->'key'->>0)
              FROM line WHERE l->>'what' = 'sweep')
         = (SELECT array_agg(key ORDER BY key) FROM shop.odd)")"
run 0 --dry-run
is 'lines of text' 17 "$(wc -l <"$out")"
# Neither a control character nor an escape sequence gets to a terminal.
if LC_ALL=C tr -d '\n' <"$out" | LC_ALL=C grep -q '[[:cntrl:]]'; then
    die 'a control character in the text'
fi
if LC_ALL=C grep -q "$(printf '\302[\200-\237]')" "$out"; then
    die 'a control character beyond ASCII in the text'
fi
if grep -q $'\u202e' "$out"; then
    die 'a character that turns the text'
fi
grep -q 'größe 数 🛒' "$out" || die 'a letter beyond ASCII is lost'
run 0
silent
value 13 'SELECT count(*) FROM order_sweep.journal'

# A sweep that is paused.
sql -o /dev/null -c "SELECT order_sweep.pause('odd')"
run 0 --dry-run
is 'the first line of a paused sweep' \
    'odd: dry run, nothing is changed; paused, so that no run sweeps it' \
    "$(sed -n 1p "$out")"
list_all
is 'paused, in JSON' 'true' \
    "$(ask_lines "$list" "SELECT l->>'paused' FROM line WHERE l ? 'totals'")"
sql -o /dev/null -c "SELECT order_sweep.resume('odd')"
list_all
is 'resumed, in JSON' 'false' \
    "$(ask_lines "$list" "SELECT l->>'paused' FROM line WHERE l ? 'totals'")"

# The same in messages.
sql -c 'UPDATE shop.odd SET state = 1' -c 'DELETE FROM order_sweep.journal' \
    -c 'CREATE FUNCTION shop.no() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN RAISE EXCEPTION $m$no: %$m$, OLD.key; END$$' \
    -c 'CREATE TRIGGER no BEFORE UPDATE ON shop.odd FOR EACH ROW
        EXECUTE FUNCTION shop.no()'
run 1
if LC_ALL=C tr -d '\n' <"$err" | LC_ALL=C grep -q '[[:cntrl:]]'; then
    die 'a control character in a message'
fi
is 'lines on stderr' 11 "$(wc -l <"$err")"
