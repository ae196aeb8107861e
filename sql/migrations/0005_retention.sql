-- How long the books are kept, a sweep by itself.

ALTER TABLE order_sweep.sweep
    ADD keep_journal interval CHECK (keep_journal >= '1 day'),
    ADD keep_runs integer NOT NULL DEFAULT 1000
        CHECK (keep_runs BETWEEN 100 AND 100000);
COMMENT ON COLUMN order_sweep.sweep.keep_journal IS
    'journal rows older than this go once nothing needs them; NULL: none goes';
COMMENT ON COLUMN order_sweep.sweep.keep_runs IS
    'so many of the last runs are kept';
COMMENT ON TABLE order_sweep.sweep IS
    'the definitions, a row each; written by define, undefine, pause, resume, '
    'retain';
COMMENT ON TABLE order_sweep.run IS
    'one row a run that had work; of each sweep the last 1000 are kept, or as '
    'many as retain says';

CREATE TABLE order_sweep.pruned (
    sweep_id  integer PRIMARY KEY
              REFERENCES order_sweep.sweep ON DELETE CASCADE,
    order_key jsonb NOT NULL,
    ordinal   integer NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE order_sweep.pruned IS
    'up to which row, in the order of its primary key, the journal of a sweep '
    'was looked through for what nothing needs';

-- Made anew with another result.
DO $$
BEGIN
    IF to_regproc('order_sweep.finish_run') IS NOT NULL THEN
        DROP FUNCTION order_sweep.finish_run(bigint, text, boolean, interval,
            interval, interval, bigint, bigint, bigint, bigint, bigint, bigint,
            bigint);
    END IF;
END $$;

INSERT INTO order_sweep.version (version) VALUES (5);
