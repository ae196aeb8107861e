#!/bin/bash
# The nights on which the clocks of New York and of Berlin are put back, and
# forward, minute by minute: an order a minute, a look a minute and another one
# a microsecond before, by the generated functions with a time of our own in the
# place of now().  No order is due early; none is due later than the hour
# explains that comes twice: of a clock without zone, what falls into it is read
# as the later one.
set -euo pipefail

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
# shellcheck source=tests/support/steps.sh
. "$ORDER_SWEEP_SOURCE/tests/support/steps.sh"

new_shop autumn
change "SELECT FROM order_sweep.undefine('cancel_unpaid')"
sql -f - <<'SQL' >/dev/null
CREATE TABLE shop.night (id int PRIMARY KEY, state text DEFAULT 'open',
    placed timestamptz, seconds bigint, millis bigint, local timestamp);
CREATE INDEX ON shop.night (placed, id) WHERE state = 'open';
CREATE INDEX ON shop.night (seconds, id) WHERE state = 'open';
CREATE INDEX ON shop.night (millis, id) WHERE state = 'open';
CREATE INDEX ON shop.night (local, id) WHERE state = 'open';
-- When each order was due first, by the batch and by the list.
CREATE TABLE testing.first (id int PRIMARY KEY, batch timestamptz, due timestamptz);

-- Define the sweep over one of the clocks, with test.now as its time.
CREATE FUNCTION testing.define(clock text, zone text, unit text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    f text;
    n int := 0;
BEGIN
    PERFORM order_sweep.define(sweep => 'night', orders => 'shop.night',
        key => '{id}', unpaid => $q$state = 'open'$q$, since => clock,
        after => '30 minutes', zone => zone, unit => unit,
        set => $q$state = 'closed'$q$);
    FOR f IN SELECT pg_get_functiondef(oid) FROM pg_proc
              WHERE proname IN ('night_batch', 'night_due', 'night_next',
                                'night_cancel') LOOP
        n := n + (f LIKE '%now()%')::int;
        EXECUTE replace(f, 'now()', 'current_setting(''test.now'')::timestamptz');
    END LOOP;
    IF n <> 4 THEN
        RAISE 'only % of the functions ask for the time', n;
    END IF;
END $$;

-- Look at the night around the change, minute by minute.
CREATE FUNCTION testing.look(change timestamptz, zone text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    tick timestamptz;
BEGIN
    TRUNCATE shop.night, testing.first;
    INSERT INTO shop.night (id, placed, seconds, millis, local)
    SELECT n, m, extract(epoch FROM m)::bigint,
           extract(epoch FROM m)::bigint * 1000, m AT TIME ZONE zone
      FROM generate_series(0, 180) n,
           LATERAL (SELECT change - interval '90 minutes'
                           + n * interval '1 minute') AS x(m);
    INSERT INTO testing.first (id) SELECT id FROM shop.night;
    FOR tick IN
        SELECT change + n * interval '1 minute' - early
          FROM generate_series(-65, 190) n,
               unnest(ARRAY[interval '1 microsecond', '0']) early
         ORDER BY 1
    LOOP
        PERFORM set_config('test.now', tick::text, true);
        UPDATE testing.first f SET batch = tick
          FROM order_sweep.night_batch(NULL, NULL, NULL, 1000) b
         WHERE f.id = b.k1 AND f.batch IS NULL;
        UPDATE testing.first f SET due = tick
          FROM order_sweep.night_due(NULL) d
         WHERE f.id = (d.order_key->>0)::int AND f.due IS NULL;
        IF (SELECT order_sweep_due FROM order_sweep.night_next(NULL))
           <> EXISTS (SELECT FROM testing.first WHERE batch IS NOT NULL) THEN
            RAISE 'the first look at % does not agree with the batch', tick;
        END IF;
    END LOOP;
END $$;

-- How many minutes after its window's end each order was due first.
CREATE FUNCTION testing.lateness() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(format('%s: %s', late, orders), ', ' ORDER BY late)
      FROM (SELECT coalesce((batch - placed - interval '30 minutes')::text, 'never')
                   || CASE WHEN batch IS DISTINCT FROM due THEN ' (listed otherwise)'
                      ELSE '' END AS late, count(*) AS orders
              FROM testing.first JOIN shop.night USING (id) GROUP BY 1) x
$$;

-- What cancel says of each order a microsecond before it was due, and then.
CREATE FUNCTION testing.cancels() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    f record;
    said text[] := '{}';
BEGIN
    FOR f IN SELECT * FROM testing.first LOOP
        PERFORM set_config('test.now',
            (f.batch - interval '1 microsecond')::text, true);
        said := said || order_sweep.night_cancel(f.id, NULL, 0);
        PERFORM set_config('test.now', f.batch::text, true);
        said := said || order_sweep.night_cancel(f.id, NULL, 0);
    END LOOP;
    RETURN (SELECT string_agg(format('%s: %s', s, n), ', ' ORDER BY s)
              FROM (SELECT s, count(*) AS n FROM unnest(said) s GROUP BY s) x);
END $$;
SQL

# night NAME CLOCK ZONE UNIT CHANGE PLACE LATENESS
night()
{
    local session
    change "SELECT testing.define('$2', $3, $4)"
    for session in Asia/Tokyo America/Los_Angeles; do
        is "$1, $6, session in $session" "$(ask "SET TimeZone = '$session';
            SELECT testing.look('$5', '$6');
            SELECT testing.lateness(); RESET TimeZone" | tail -n 1)" "$7"
    done
    is "$1, $6: cancel agrees" "$(ask "BEGIN; SELECT testing.cancels(); ROLLBACK" |
        tail -n 1)" 'changed: 181, swept: 181'
}

exact='00:00:00: 181'
twice='00:00:00: 121, 01:00:00: 60'
for place in 'America/New_York|2026-11-01 06:00+00|2026-03-08 07:00+00' \
    'Europe/Berlin|2026-10-25 01:00+00|2026-03-29 01:00+00'; do
    IFS='|' read -r zone autumn spring <<<"$place"
    is "$zone: the hour that comes twice" "$(ask "SELECT
        ('$autumn'::timestamptz - interval '1 hour') AT TIME ZONE '$zone'
        = '$autumn'::timestamptz AT TIME ZONE '$zone'")" t
    is "$zone: the hour that is left out" "$(ask "SELECT
        '$spring'::timestamptz AT TIME ZONE '$zone'
        - ('$spring'::timestamptz - interval '1 minute') AT TIME ZONE '$zone'")" \
        01:01:00
    for change in "$autumn" "$spring"; do
        night timestamptz placed NULL NULL "$change" "$zone" "$exact"
        night seconds seconds NULL NULL "$change" "$zone" "$exact"
        night milliseconds millis NULL "'ms'" "$change" "$zone" "$exact"
    done
    night 'local time' local "'$zone'" NULL "$autumn" "$zone" "$twice"
    is "$zone: exactly the hour's first time is late" "$(ask "SELECT
        min(placed) = '$autumn'::timestamptz - interval '1 hour',
        max(placed) = '$autumn'::timestamptz - interval '1 minute'
        FROM testing.first JOIN shop.night USING (id)
        WHERE batch > placed + interval '30 minutes'")" 't|t'
    night 'local time' local "'$zone'" NULL "$spring" "$zone" "$exact"
    # A time that the clocks left out comes before a later one, and is due after
    # it: the first look must not end with the oldest.
    is "$zone: a time that was left out hides no order" "$(ask "BEGIN;
        TRUNCATE shop.night;
        INSERT INTO shop.night (id, local)
        SELECT n, ('$spring'::timestamptz - interval '1 minute')
                  AT TIME ZONE '$zone' + n * interval '31 minutes'
          FROM generate_series(1, 2) n;
        SET LOCAL TimeZone = 'UTC';
        SELECT string_agg(date_part('minute', local AT TIME ZONE '$zone')::text, ','
                          ORDER BY local) FROM shop.night;
        DO \$\$ BEGIN
            PERFORM set_config('test.now', ('$spring'::timestamptz
                                            + interval '31 minutes')::text, true);
        END \$\$;
        SELECT order_sweep_due FROM order_sweep.night_next(NULL);
        ROLLBACK")" $'30,1\nt'
    night 'UTC without zone' "placed AT TIME ZONE ''UTC''" "'UTC'" NULL \
        "$autumn" "$zone" "$exact"
done
finish
