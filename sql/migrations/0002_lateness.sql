-- How late orders were swept, in the row of the run.

ALTER TABLE order_sweep.run
    ADD late_p50 interval,
    ADD late_p99 interval,
    ADD late_max interval;
COMMENT ON COLUMN order_sweep.run.late_p50 IS
    'from its deadline to its commit, half of the orders swept took at most '
    'so long; NULL: none was swept';
COMMENT ON COLUMN order_sweep.run.late_p99 IS 'the same of 99 in 100';
COMMENT ON COLUMN order_sweep.run.late_max IS 'the same of all';
COMMENT ON COLUMN order_sweep.run.stopped IS
    'why it ended: done, max orders, time limit, hard limit, signal, failures, '
    'broken; NULL: still running, or it died';
COMMENT ON COLUMN order_sweep.sweep.batch_call IS
    'parameters: window, clock and key of the last row seen (NULL: start), '
    'limit, share, of so many shares';

-- Made anew with these, under the name it had; in a new schema there is none.
DO $$
BEGIN
    IF to_regproc('order_sweep.finish_run') IS NOT NULL THEN
        DROP FUNCTION order_sweep.finish_run(bigint, text, boolean, bigint,
            bigint, bigint, bigint, bigint, bigint, bigint);
    END IF;
END $$;

INSERT INTO order_sweep.version (version) VALUES (2);
