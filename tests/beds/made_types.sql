-- Synthetic: identifier and type traps that can meet in one table.  Invented.
-- Shows: schema, table and columns that need quoting (blank, quote, capital,
-- keyword, non-ASCII), status as a foreign key to a lookup table, a second status
-- column of char(10) padded with blanks, values that hold quotes, uuid id,
-- infinite dates, a generated column, a role that may UPDATE only three columns,
-- an audit trigger on UPDATE OF status.

CREATE SCHEMA "Mein Shop";
CREATE TABLE "Mein Shop".status (id smallint PRIMARY KEY, name text NOT NULL UNIQUE);
INSERT INTO "Mein Shop".status VALUES (1, 'neu'), (2, 'bezahlt'), (3, 'storniert (Kunde''s Wunsch)');
CREATE TABLE "Mein Shop"."Größe ""select""" (
    "Id"       uuid PRIMARY KEY,
    "user"     text NOT NULL DEFAULT 'x',
    "status"   smallint NOT NULL REFERENCES "Mein Shop".status,
    "Kurz"     char(10) NOT NULL DEFAULT 'offen',
    "time"     timestamptz,
    "day"      date GENERATED ALWAYS AS (("time" AT TIME ZONE 'UTC')::date) STORED,
    "Notiz"    text
);
CREATE TABLE "Mein Shop".audit (id bigint GENERATED ALWAYS AS IDENTITY, o uuid, was smallint, now_is smallint);
CREATE FUNCTION "Mein Shop".note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN INSERT INTO "Mein Shop".audit (o, was, now_is) VALUES (NEW."Id", OLD.status, NEW.status); RETURN NULL; END $$;
CREATE TRIGGER note AFTER UPDATE OF status ON "Mein Shop"."Größe ""select""" FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION "Mein Shop".note();

INSERT INTO "Mein Shop"."Größe ""select""" ("Id", "status", "time")
SELECT ('90000000-0000-4000-8000-00000000000' || n)::uuid, st, t FROM (VALUES
    (1, 1::smallint, now() - interval '2 hours'),     -- due
    (2, 1, now() - interval '30 minutes'),            -- boundary
    (3, 1, now() - interval '20 minutes'),            -- not yet
    (4, 2, now() - interval '2 hours'),               -- paid
    (5, 3, now() - interval '2 hours'),               -- cancelled
    (6, 1, NULL),                                     -- NULL date
    (7, 1, 'infinity'::timestamptz),                  -- never
    (8, 1, now() - interval '40 years')               -- due: very old
) AS v(n, st, t);
-- '-infinity' is left out: whether such a row is due is the sweeper's decision.
GRANT USAGE ON SCHEMA "Mein Shop" TO PUBLIC;
GRANT SELECT, UPDATE ("status", "Kurz", "Notiz") ON "Mein Shop"."Größe ""select""" TO PUBLIC;
GRANT SELECT ON "Mein Shop".status, "Mein Shop".audit TO PUBLIC;

-- cancelled | o."status" = 3
-- expect cancelled | 90000000-0000-4000-8000-000000000001, 90000000-0000-4000-8000-000000000002
-- expect cancelled | 90000000-0000-4000-8000-000000000008
-- expect stock | none; three audit rows 1 -> 3
-- note | FOR UPDATE needs UPDATE on at least one column and SELECT on the rest: PUBLIC, and so the role that the sweep runs as, has just that.
-- verify | SELECT 'audit', count(*) FROM "Mein Shop".audit WHERE was = 1 AND now_is = 3 HAVING count(*) <> 3;
-- verify | SELECT 'note', "Id" FROM "Mein Shop"."Größe ""select""" WHERE "status" = 3 AND "Id" <> '90000000-0000-4000-8000-000000000005' AND "Notiz" IS DISTINCT FROM 'Frist''s Ablauf; -- $1 "x" %s';
-- verify | SELECT 'padded', "Id" FROM "Mein Shop"."Größe ""select""" WHERE "status" = 3 AND "Kurz" <> 'storno' AND "Id" <> '90000000-0000-4000-8000-000000000005';
