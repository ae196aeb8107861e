-- When a run last came to its end: status tells it, and compares.

ALTER TABLE order_sweep.life ADD success_at timestamptz;
COMMENT ON COLUMN order_sweep.life.success_at IS
    'when a run last came to its end, whatever single orders did; one that '
    'finds nothing to do writes it every five minutes; NULL: never';

UPDATE order_sweep.life l SET success_at = r.ended_at
  FROM order_sweep.sweep s CROSS JOIN LATERAL (
      SELECT max(x.ended_at) AS ended_at FROM order_sweep.run x
       WHERE x.sweep = s.name
         AND x.stopped IN ('done', 'max orders', 'time limit')) r
 WHERE l.sweep_id = s.id;

INSERT INTO order_sweep.version (version) VALUES (4);
