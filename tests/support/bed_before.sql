-- What a bed was like before the sweep, for bed_compare.sql, and the mutations
-- of its definition, for bed_mutate.sql; in a schema of their own.
-- -v cancelled: predicate over o, which orders are cancelled.

\set ON_ERROR_STOP on
SET TimeZone = 'UTC';
CREATE SCHEMA bed;

SELECT format('CREATE TABLE bed.before AS
               SELECT jsonb_build_array(%s) AS key, (%s) IS TRUE AS cancelled,
                      to_jsonb(o) AS content
                 FROM %s o',
              (SELECT string_agg(format('o.%I', k), ', ' ORDER BY n)
                 FROM unnest(s.key) WITH ORDINALITY AS u(k, n)),
              :'cancelled', s.orders)
  FROM order_sweep.sweep s \gexec

-- The arguments that are changed, as a mutation would have them.
CREATE TABLE bed.mutation (
    name    text PRIMARY KEY,
    unpaid  text,
    unless  json,
    set     text,
    each    text[],
    zone    text,
    unit    text,
    max_age interval
);

-- Nothing changed: must pass as the bed does.
INSERT INTO bed.mutation
SELECT 'nothing', unpaid, unless, set, each, zone, unit, max_age
  FROM order_sweep.sweep;

-- Taken out: all rules, and each by itself. Rules are those of unless and the
-- lines of unpaid after the first, which is the status.
CREATE TEMP TABLE rule AS
SELECT 'rules: ' || u.key AS name, u.key, NULL::bigint AS line, u.value AS text
  FROM order_sweep.sweep s, json_each_text(s.unless) AS u
UNION ALL
SELECT 'rules: line ' || n || ' of unpaid', NULL, n, text
  FROM order_sweep.sweep s,
       regexp_split_to_table(s.unpaid, '\n\s*AND ')
       WITH ORDINALITY AS u(text, n);
INSERT INTO bed.mutation
SELECT 'rules', r.text, NULL, m.set, m.each, m.zone, m.unit, m.max_age
  FROM bed.mutation m, rule r
 WHERE m.name = 'nothing' AND r.line = 1
   AND (SELECT count(*) FROM rule) > 1;
INSERT INTO bed.mutation
SELECT r.name,
       (SELECT string_agg(k.text, E'\n AND ' ORDER BY k.line) FROM rule k
         WHERE k.line IS NOT NULL AND k.name <> r.name),
       (SELECT json_object_agg(j.key, j.value ORDER BY j.n)
          FROM json_each_text(m.unless) WITH ORDINALITY AS j(key, value, n)
         WHERE r.key IS NULL OR j.key <> r.key),
       m.set, m.each, m.zone, m.unit, m.max_age
  FROM bed.mutation m, rule r
 WHERE m.name = 'nothing' AND r.line IS DISTINCT FROM 1
   AND (SELECT count(*) FROM rule) > 2;

-- All statements of each, and each by itself.
INSERT INTO bed.mutation
SELECT 'each', unpaid, unless, set, '{}', zone, unit, max_age
  FROM bed.mutation
 WHERE name = 'nothing' AND cardinality(each) > 0;
INSERT INTO bed.mutation
SELECT 'each: ' || n, unpaid, unless, set, each[:n - 1] || each[n + 1:],
       zone, unit, max_age
  FROM bed.mutation, generate_series(1, cardinality(each)) AS n
 WHERE name = 'nothing' AND cardinality(each) > 1;

-- All assignments of set after the first, which is the status, and each by
-- itself.
CREATE TEMP TABLE assignment AS
SELECT n, text, substring(text, '^\s*(\S+)') AS assigned
  FROM order_sweep.sweep s,
       regexp_split_to_table(s.set, ',\s*\n') WITH ORDINALITY AS u(text, n);
INSERT INTO bed.mutation
SELECT 'set', unpaid, unless, a.text, each, zone, unit, max_age
  FROM bed.mutation, assignment a
 WHERE name = 'nothing' AND a.n = 1
   AND (SELECT count(*) FROM assignment) > 1;
INSERT INTO bed.mutation
SELECT 'set: ' || a.assigned, unpaid, unless,
       (SELECT string_agg(k.text, E',\n' ORDER BY k.n) FROM assignment k
         WHERE k.n <> a.n),
       each, zone, unit, max_age
  FROM bed.mutation, assignment a
 WHERE name = 'nothing' AND a.n > 1
   AND (SELECT count(*) FROM assignment) > 2;

-- The clock read in another zone or unit, and the other answer to how old is
-- too old.
INSERT INTO bed.mutation
SELECT 'zone', unpaid, unless, set, each, 'Pacific/Honolulu', unit, max_age
  FROM bed.mutation WHERE name = 'nothing' AND zone IS NOT NULL;
INSERT INTO bed.mutation
SELECT 'unit', unpaid, unless, set, each, zone,
       CASE unit WHEN 'ms' THEN 's' ELSE 'ms' END, max_age
  FROM bed.mutation WHERE name = 'nothing' AND unit IS NOT NULL;
INSERT INTO bed.mutation
SELECT 'max_age', unpaid, unless, set, each, zone, unit,
       CASE WHEN max_age IS NULL THEN interval '30 days' END
  FROM bed.mutation
 WHERE name = 'nothing' AND max_age IS DISTINCT FROM '30 days';
