-- What must hold in the sample shop after anything order-sweep did, a run
-- killed half-way included:
--
--     psql -X -d shop -f invariants.sql
--
-- Prints nothing when all holds, else one line for each invariant broken, with
-- an example. Changes nothing. -v window='10 minutes' names a window other
-- than the 30 minutes of sql/sample/definition.sql.
--
-- To add one: a SELECT of its name and of what breaks it, joined by UNION ALL,
-- and a case in tests/integration/invariants_detect.sh that proves it.

\set ON_ERROR_STOP on
\set QUIET on
\pset format unaligned
\pset tuples_only on
\if :{?window}
\else
    \set window '30 minutes'
\endif

WITH closing AS (
    -- The sweeps that close orders of the shop; a test may have others.
    SELECT s.name, s.again
      FROM order_sweep.sweep s
     WHERE to_regclass(s.orders) = 'shop.orders'::regclass
       AND s.set ~ 'order_status\s*=\s*3'
), swept AS (
    -- Their journal beside the orders it speaks of; id is NULL without one.
    SELECT j.sweep, j.order_key, j.run_id, j.swept_at, c.again, o.*
      FROM order_sweep.journal j
      JOIN closing c ON c.name = j.sweep
      LEFT JOIN shop.orders o ON jsonb_build_array(o.id) = j.order_key
), live AS (
    -- The orders that hold goods.
    SELECT o.id, o.buyer_id, l.goods_id, sum(l.quantity) AS quantity,
           o.order_status
      FROM shop.orders o
      JOIN shop.order_line l ON l.order_id = o.id
     WHERE o.order_status IN (1, 2)
     GROUP BY o.id, l.goods_id
), held AS (
    SELECT goods_id,
           coalesce(sum(quantity) FILTER (WHERE order_status = 1), 0)
               AS reserved,
           coalesce(sum(quantity) FILTER (WHERE order_status = 2), 0)
               AS sold
      FROM live
     GROUP BY goods_id
), broken (name, detail) AS (

    SELECT 'stock not conserved',
           format('goods %s: stock %s + reserved %s + sold %s, offered %s',
                  g.id, g.stock, coalesce(h.reserved, 0),
                  coalesce(h.sold, 0), g.offered)
      FROM shop.goods g
      LEFT JOIN held h ON h.goods_id = g.id
     WHERE g.stock + coalesce(h.reserved, 0) + coalesce(h.sold, 0)
           <> g.offered

    UNION ALL
    SELECT 'live order without mark',
           format('order %s, buyer %s, goods %s', id, buyer_id, goods_id)
      FROM live
     WHERE NOT EXISTS (SELECT FROM shop.buyer_mark m
                        WHERE m.buyer_id = live.buyer_id
                          AND m.goods_id = live.goods_id)

    UNION ALL
    SELECT 'mark without live order',
           format('buyer %s, goods %s', m.buyer_id, m.goods_id)
      FROM shop.buyer_mark m
     WHERE NOT EXISTS (SELECT FROM live
                        WHERE live.buyer_id = m.buyer_id
                          AND live.goods_id = m.goods_id)

    UNION ALL
    SELECT 'two live orders of the same goods',
           format('buyer %s, goods %s', buyer_id, goods_id)
      FROM live
     GROUP BY buyer_id, goods_id
    HAVING count(*) > 1

    -- Orders closed before there was a sweep have no journal.
    UNION ALL
    SELECT 'closed order without journal',
           format('order %s, closed at %s', o.id, o.closed_at)
      FROM shop.orders o
     WHERE o.order_status = 3
       AND (o.closed_at IS NULL
            OR o.closed_at >= (SELECT min(applied_at)
                                 FROM order_sweep.version))
       AND NOT EXISTS (SELECT FROM swept WHERE swept.id = o.id)

    UNION ALL
    SELECT 'journal of an order not closed',
           format('order %s, status %s', id, order_status)
      FROM swept
     WHERE order_status <> 3

    UNION ALL
    SELECT 'journal without order',
           format('%s, key %s', sweep, order_key)
      FROM swept
     WHERE id IS NULL

    UNION ALL
    SELECT 'order swept twice',
           format('order %s, %s times', id, count(*))
      FROM swept
     WHERE NOT again
     GROUP BY id
    HAVING count(*) > 1

    -- A payment booked past pay_order, after the sweep, is the shop's matter.
    UNION ALL
    SELECT 'paid order closed',
           format('order %s, paid at %s, swept at %s',
                  id, coalesce(paid_at, payment_at), swept_at)
      FROM swept
      LEFT JOIN (SELECT order_id, min(p.paid_at) AS payment_at
                   FROM shop.payment p
                  GROUP BY order_id) AS first ON first.order_id = id
     WHERE order_status = 3
       AND (paid_at IS NOT NULL OR payment_at <= swept_at)

    UNION ALL
    SELECT 'young order swept',
           format('order %s at the age of %s', id,
                  swept_at - to_timestamp(created))
      FROM swept
     WHERE swept_at - to_timestamp(created) < :'window'::interval

    -- What a run could not tell (connection lost) it counts as unknown.
    UNION ALL
    SELECT 'run and journal differ',
           format('run %s: swept %s, unknown %s, journal %s',
                  r.id, r.swept, r.unknown, count(swept.run_id))
      FROM order_sweep.run r
      JOIN closing c ON c.name = r.sweep
      LEFT JOIN swept ON swept.sweep = r.sweep AND swept.run_id = r.id
     WHERE r.ended_at IS NOT NULL
     GROUP BY r.id
    HAVING count(swept.run_id) NOT BETWEEN r.swept AND r.swept + r.unknown

    UNION ALL
    SELECT 'failure of an order swept',
           format('%s, key %s, %s', f.sweep, f.order_key, f.message)
      FROM order_sweep.failure f
     WHERE EXISTS (SELECT FROM swept
                    WHERE swept.sweep = f.sweep
                      AND swept.order_key = f.order_key
                      AND NOT swept.again)

    -- 1869838192: the bytes "oswp", the class of all locks of order-sweep.
    UNION ALL
    SELECT 'advisory lock left',
           format('sweep %s, held by process %s', l.objid, l.pid)
      FROM pg_locks l
     WHERE l.locktype = 'advisory'
       AND l.classid = 1869838192
       AND l.database = (SELECT oid FROM pg_database
                          WHERE datname = current_database())

    UNION ALL
    SELECT 'transaction left open',
           format('process %s, since %s', a.pid, a.xact_start)
      FROM pg_stat_activity a
     WHERE a.datname = current_database()
       AND a.application_name LIKE 'order-sweep%'
       AND a.xact_start IS NOT NULL
)
SELECT format('%s: %s%s', name, min(detail),
              CASE WHEN count(*) > 1
                   THEN format(' (and %s more)', count(*) - 1) END)
  FROM broken
 GROUP BY name
 ORDER BY name;
