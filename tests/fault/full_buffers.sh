#!/bin/bash
# Both directions of the connection are full: keys so long that the orders in
# flight have no room in the socket's buffer, and notices of the shop so long
# that those of one order have none either.  A client that only wrote, and a
# server that only answered, would wait for each other till the limits.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

orders=200
depth=64 # the most there may be in flight
buffer=$(cat /proc/sys/net/core/wmem_default)
key=$((4 * buffer / depth))

new_db full_buffers
run 0 migrate
sql -o /dev/null -v key="$key" -v orders=$orders -v buffer="$buffer" <<'SQL'
-- Each notice once is enough, with the client.
SELECT format('ALTER DATABASE %I SET log_min_messages = error',
              current_database()) \gexec
CREATE SCHEMA shop;
CREATE TABLE shop.orders (
    id text PRIMARY KEY,
    status text NOT NULL,
    created_at timestamptz NOT NULL);
INSERT INTO shop.orders
SELECT repeat('x', :key) || n, 'unpaid', now() - interval '1 hour'
  FROM generate_series(1, :orders) n;
SELECT format($$
    CREATE FUNCTION shop.talk() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN RAISE WARNING USING MESSAGE = repeat(''y'', %s);
        RETURN NEW; END'$$, :buffer) \gexec
CREATE TRIGGER talk BEFORE UPDATE ON shop.orders
FOR EACH ROW EXECUTE FUNCTION shop.talk();
SELECT order_sweep.define(sweep => 'long', orders => 'shop.orders',
    key => '{id}', unpaid => $$status = 'unpaid'$$, since => 'created_at',
    after => '30 minutes', set => $$status = 'cancelled'$$);
SQL

run 0 --format json --depth $depth
is 'the report' "done $orders 0" "$(reported stopped swept unknown)"
is stderr '' "$(cat "$err")"
truthful
value $orders "SELECT count(*) FROM shop.orders WHERE status = 'cancelled'"
