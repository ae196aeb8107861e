-- Events out: what the relay needs to know of the journal's rows.

ALTER TABLE order_sweep.sweep
    ADD line text,
    ADD publish_since timestamptz;
COMMENT ON COLUMN order_sweep.sweep.line IS
    'an event as the text that the relay hands to its command, over the event '
    'e; NULL: a JSON object';
COMMENT ON COLUMN order_sweep.sweep.publish_since IS
    'events of orders swept since then are for the relay; NULL: none is';
COMMENT ON TABLE order_sweep.sweep IS
    'the definitions, a row each; written by define, undefine, pause, resume, '
    'retain, publish';

CREATE TYPE order_sweep.event AS (
    id       uuid,
    sweep    text,
    key      jsonb,
    ordinal  integer,
    swept_at timestamptz,
    payload  jsonb
);
COMMENT ON TYPE order_sweep.event IS 'what the line of a definition is about: e';

-- In the order in which the relay takes them.
CREATE INDEX journal_unpublished
    ON order_sweep.journal (sweep, swept_at, order_key, ordinal)
 WHERE published_at IS NULL;

CREATE TABLE order_sweep.delivery (
    sweep     text COLLATE "C" NOT NULL,
    order_key jsonb NOT NULL,
    ordinal   integer NOT NULL,
    attempts  integer NOT NULL,
    next_try  timestamptz NOT NULL,
    hangs     smallint NOT NULL DEFAULT 0,
    parked    boolean NOT NULL DEFAULT false,
    others    boolean NOT NULL DEFAULT false,
    message   text,
    failed_at timestamptz,
    PRIMARY KEY (sweep, order_key, ordinal)
);
COMMENT ON TABLE order_sweep.delivery IS
    'events that a relay took and that are not published yet: it is feeding '
    'them, it died, or its command refused them';
COMMENT ON COLUMN order_sweep.delivery.attempts IS
    'how often a relay took it; parked once it was refused at the tenth';
COMMENT ON COLUMN order_sweep.delivery.hangs IS
    'how often the command hung on a batch that it was in';
COMMENT ON COLUMN order_sweep.delivery.others IS
    'the command refused it and took others: it is not the command';
COMMENT ON COLUMN order_sweep.delivery.message IS
    'why it was refused; NULL: not yet';

CREATE INDEX delivery_due ON order_sweep.delivery (sweep, next_try)
 WHERE NOT parked;
CREATE INDEX delivery_hung ON order_sweep.delivery (sweep, hangs, next_try)
 WHERE NOT parked AND hangs > 0;

INSERT INTO order_sweep.version (version) VALUES (6);
