-- What the rows of runs add up to, for those that are deleted.

CREATE TABLE order_sweep.total (
    sweep  text COLLATE "C" NOT NULL,
    what   text COLLATE "C" NOT NULL CHECK (what IN ('orders', 'runs')),
    word   text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    PRIMARY KEY (sweep, what, word)
) WITH (fillfactor = 50);
COMMENT ON TABLE order_sweep.total IS
    'orders by outcome and runs by why they ended, of all runs there were: '
    'counters for monitoring, which must not fall';

INSERT INTO order_sweep.total (sweep, what, word, number)
SELECT r.sweep, x.what, x.word, sum(x.number)
  FROM order_sweep.run r CROSS JOIN LATERAL (VALUES
           ('orders', 'swept', r.swept), ('orders', 'kept', r.kept),
           ('orders', 'locked', r.locked), ('orders', 'changed', r.changed),
           ('orders', 'gone', r.gone), ('orders', 'failed', r.failed),
           ('orders', 'unknown', r.unknown), ('runs', r.stopped, 1)
       ) AS x(what, word, number)
 WHERE r.ended_at IS NOT NULL AND x.number > 0
 GROUP BY 1, 2, 3;

INSERT INTO order_sweep.version (version) VALUES (3);
