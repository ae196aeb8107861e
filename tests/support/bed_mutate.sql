-- Define the sweep of a bed anew as one of its mutations has it, and sweep, all
-- in the transaction of the caller, who rolls it back: so the functions are
-- called as the program would, without the program.
-- -v mutation: its name in bed.mutation.

\set ON_ERROR_STOP on
SELECT order_sweep.define(
    sweep    => s.name,
    orders   => s.orders::regclass,
    key      => s.key,
    unpaid   => m.unpaid,
    set      => m.set,
    since    => s.since,
    after    => s.after,
    grace    => s.grace,
    zone     => m.zone,
    unit     => m.unit,
    deadline => s.deadline,
    max_age  => m.max_age,
    unless   => m.unless,
    each     => m.each,
    event    => s.event,
    again    => s.again,
    paid     => s.paid,
    settings => s.settings,
    run_as   => nullif(s.owner, current_user)::regrole)
  FROM order_sweep.sweep s, bed.mutation m
 WHERE m.name = :'mutation';

DO $$
DECLARE
    s order_sweep.sweep;
    _key jsonb;
    _cancel text;
    _run bigint;
    _swept bigint := 0;
    _outcome text;
BEGIN
    SELECT * INTO STRICT s FROM order_sweep.sweep;
    SELECT format('SELECT order_sweep.%I(%s, NULL, $2)', s.name || '_cancel',
                  string_agg(format('($1->>%s)::%s', n - 1, t), ', ' ORDER BY n))
      INTO _cancel
      FROM unnest(s.key_types) WITH ORDINALITY AS u(t, n);
    _run := order_sweep.begin_run(s.name, 'here', 0, NULL);
    FOR _key IN EXECUTE format(
        'SELECT order_key FROM order_sweep.%I(NULL) WHERE state = ''sweep''',
        s.name || '_due') LOOP
        BEGIN
            EXECUTE _cancel INTO _outcome USING _key, _run;
            IF _outcome = 'swept' THEN
                _swept := _swept + 1;
            END IF;
        EXCEPTION WHEN OTHERS THEN
            PERFORM order_sweep.record_failure(s.name, _key, SQLSTATE, SQLERRM,
                                               true);
        END;
    END LOOP;
    PERFORM order_sweep.finish_run(_run, 'done', false, NULL, NULL, NULL, _swept,
                                   0, 0, 0, 0, 0, 0);
END $$;
