-- The schema and its tables.  Everything a run reads or writes here goes
-- through functions: no role but the definitions' owners gets table rights.

CREATE SCHEMA order_sweep;
COMMENT ON SCHEMA order_sweep IS
    'order-sweep: definitions of timed moves of orders, and the books of its runs';

CREATE TABLE order_sweep.version (
    version    integer PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE order_sweep.version IS
    'one row a migration applied; the highest is the schema''s version';
INSERT INTO order_sweep.version (version) VALUES (1);

CREATE TABLE order_sweep.sweep (
    id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text COLLATE "C" NOT NULL UNIQUE
                CHECK (name ~ '^[a-z][a-z0-9_]{0,39}$'),
    owner       text NOT NULL,
    paused      boolean NOT NULL DEFAULT false,
    -- the arguments of define, as given
    orders      text NOT NULL,
    key         text[] NOT NULL,
    unpaid      text NOT NULL,
    since       text,
    after       interval,
    grace       interval NOT NULL,
    zone        text,
    unit        text,
    deadline    text,
    max_age     interval,
    unless      json,
    set         text NOT NULL,
    each        text[] NOT NULL,
    event       text,
    again       boolean NOT NULL,
    paid        text,
    settings    json,
    -- what define found out
    search_path text NOT NULL,
    path        text[] NOT NULL,
    key_types   text[] NOT NULL,
    clock_type  text NOT NULL,
    each_rows   boolean[] NOT NULL,
    -- the statements the program prepares
    batch_call  text NOT NULL,
    newest_call text NOT NULL,
    cancel_call text NOT NULL,
    fail_call   text NOT NULL
);
COMMENT ON TABLE order_sweep.sweep IS
    'the definitions, a row each; written by define, undefine, pause, resume';
COMMENT ON COLUMN order_sweep.sweep.id IS
    'second key of the advisory lock that a run of this sweep holds';
COMMENT ON COLUMN order_sweep.sweep.orders IS
    'the table by its quoted name, so that a table made anew is found again';
COMMENT ON COLUMN order_sweep.sweep.search_path IS
    'the path that the functions pin, as SQL';
COMMENT ON COLUMN order_sweep.sweep.path IS
    'the path in force when define was called; the fragments'' names mean this';
COMMENT ON COLUMN order_sweep.sweep.each_rows IS
    'for each statement of each: does it return rows';
COMMENT ON COLUMN order_sweep.sweep.batch_call IS
    'parameters: window, clock and key of the last row seen (NULL: start), limit';
COMMENT ON COLUMN order_sweep.sweep.newest_call IS
    'parameters: window, limit';
COMMENT ON COLUMN order_sweep.sweep.cancel_call IS
    'parameters: key, window, run id';
COMMENT ON COLUMN order_sweep.sweep.fail_call IS
    'parameters: key, SQLSTATE, message, does it count as an attempt';

CREATE TABLE order_sweep.life (
    sweep_id integer PRIMARY KEY
             REFERENCES order_sweep.sweep ON DELETE CASCADE,
    seen_at  timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
COMMENT ON TABLE order_sweep.life IS
    'when a run last looked after each sweep: tells a quiet sweep from a dead one';

CREATE TABLE order_sweep.run (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sweep      text COLLATE "C" NOT NULL,
    host       text NOT NULL,
    pid        integer NOT NULL,
    "window"   interval,
    started_at timestamptz NOT NULL DEFAULT now(),
    ended_at   timestamptz,
    stopped    text,
    rest       boolean,
    swept      bigint NOT NULL DEFAULT 0,
    kept       bigint NOT NULL DEFAULT 0,
    locked     bigint NOT NULL DEFAULT 0,
    changed    bigint NOT NULL DEFAULT 0,
    gone       bigint NOT NULL DEFAULT 0,
    failed     bigint NOT NULL DEFAULT 0,
    unknown    bigint NOT NULL DEFAULT 0
);
CREATE INDEX run_by_sweep ON order_sweep.run (sweep, id);
COMMENT ON TABLE order_sweep.run IS
    'one row a run that had work; the last 1000 of each sweep are kept';
COMMENT ON COLUMN order_sweep.run.ended_at IS
    'NULL: still running, or it died';
COMMENT ON COLUMN order_sweep.run.stopped IS
    'why it ended: done, max orders, time limit, signal, failures';
COMMENT ON COLUMN order_sweep.run.rest IS
    'true if orders may have been left for the next run';

CREATE TABLE order_sweep.journal (
    sweep        text COLLATE "C" NOT NULL,
    order_key    jsonb NOT NULL,
    ordinal      integer NOT NULL DEFAULT 1,
    run_id       bigint NOT NULL,
    swept_at     timestamptz NOT NULL DEFAULT now(),
    payload      jsonb NOT NULL,
    published_at timestamptz,
    PRIMARY KEY (sweep, order_key, ordinal)
);
COMMENT ON TABLE order_sweep.journal IS
    'one row an order swept, written in the order''s own transaction; its '
    'primary key is what makes a second sweep of an order impossible';
COMMENT ON COLUMN order_sweep.journal.order_key IS
    'the key columns as a JSON array, rendered in UTC';
COMMENT ON COLUMN order_sweep.journal.ordinal IS
    'above 1 only where the definition says again';

CREATE TABLE order_sweep.failure (
    sweep       text COLLATE "C" NOT NULL,
    order_key   jsonb NOT NULL,
    attempts    integer NOT NULL,
    postponed   integer NOT NULL,
    next_try    timestamptz NOT NULL,
    quarantined boolean NOT NULL,
    sqlstate    text NOT NULL,
    message     text NOT NULL,
    failed_at   timestamptz NOT NULL,
    PRIMARY KEY (sweep, order_key)
);
COMMENT ON TABLE order_sweep.failure IS
    'orders whose last try failed, with the time of the next one';
COMMENT ON COLUMN order_sweep.failure.attempts IS
    'tries that failed by the order''s own fault; quarantined at 10';
COMMENT ON COLUMN order_sweep.failure.postponed IS
    'tries in a row that met a lock or a deadlock: these count no attempt';
