-- What order-sweep check says of the orders table.

CREATE OR REPLACE FUNCTION order_sweep.relations(orders regclass)
RETURNS regclass[] LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH RECURSIVE r(relation) AS (
        SELECT orders::oid
        UNION
        SELECT n.relation FROM r, LATERAL (
            SELECT h.inhrelid AS relation FROM pg_inherits h
             WHERE h.inhparent = r.relation
            UNION ALL
            -- what the query of a view depends on
            SELECT c.oid
              FROM pg_rewrite v
              JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass
                              AND d.objid = v.oid
                              AND d.refclassid = 'pg_class'::regclass
              JOIN pg_class c ON c.oid = d.refobjid AND c.relkind IN ('r', 'p', 'v', 'f')
             WHERE v.ev_class = r.relation AND v.ev_type = '1') n
    )
    SELECT array_agg(r.relation::regclass) FROM r
$$;
COMMENT ON FUNCTION order_sweep.relations IS
    'the relations that hold the rows of orders: itself, its partitions and, '
    'of a view, what it reads from (tables that it only looks into, too)';

CREATE OR REPLACE FUNCTION order_sweep.foreign_part(orders regclass)
RETURNS regclass LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT r.relation
      FROM unnest(order_sweep.relations(orders)) AS r(relation)
      JOIN pg_class c ON c.oid = r.relation
     WHERE c.relkind = 'f'
     ORDER BY r.relation::text
     LIMIT 1
$$;
COMMENT ON FUNCTION order_sweep.foreign_part IS
    'a foreign table among the relations that hold the rows of orders';

CREATE OR REPLACE FUNCTION order_sweep.as_pattern(name name)
RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$ SELECT regexp_replace(quote_ident(name), '\W', '\\\&', 'g') $$;
COMMENT ON FUNCTION order_sweep.as_pattern IS
    'a name, as SQL has it, in a regular expression';

CREATE OR REPLACE FUNCTION order_sweep.may_undo(
    s order_sweep.sweep, relation regclass, body text)
RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
    WITH b(text) AS (
        SELECT regexp_replace(regexp_replace(body, '/[*].*?[*]/', ' ', 'g'),
                              '--[^\n]*', ' ', 'g')
    ), assigns(start) AS (
        -- Where a statement begins: elsewhere = compares.
        VALUES ('(^|;|>>|\m(begin|then|else|loop)\M)\s*new')
    )
    SELECT b.text ~* '\mreturn\s+(null|old)\M'
           OR b.text ~* (assigns.start || '\s*:?=\s*old\M')
           OR EXISTS (
               SELECT FROM pg_attribute a
                WHERE a.attrelid = relation AND a.attnum > 0
                  AND a.attname = ANY (order_sweep.assigned(s.set))
                  AND s.unpaid ~* ('(^|\W)' || order_sweep.as_pattern(a.attname)
                                   || '($|\W)')
                  AND b.text ~* (assigns.start || '\.'
                                 || order_sweep.as_pattern(a.attname) || '\s*:?='))
      FROM b, assigns
$$;
COMMENT ON FUNCTION order_sweep.may_undo IS
    'does the body of a trigger in PL/pgSQL pass over the update, give the old '
    'row back, or write into a column that set writes and unpaid asks for';

CREATE OR REPLACE FUNCTION order_sweep.check_table(s order_sweep.sweep)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _orders regclass := order_sweep.relation(s.orders);
    _all regclass[] := order_sweep.relations(_orders);
BEGIN
    level := 'fail';
    FOR what, mend IN
        SELECT format('index %s is invalid', i.indexrelid::regclass),
               CASE c.relkind
                   WHEN 'I' THEN 'ALTER INDEX ... ATTACH PARTITION an index of '
                                 'each partition.'
                   ELSE format('REINDEX INDEX CONCURRENTLY %s;',
                               i.indexrelid::regclass) END
          FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
         WHERE i.indrelid = ANY (_all) AND NOT i.indisvalid LOOP
        item := 'invalid index';
        why := 'CREATE INDEX CONCURRENTLY failed half-way; nothing uses it.';
        RETURN NEXT;
    END LOOP;
    IF order_sweep.foreign_part(_orders) IS NOT NULL THEN
        item := 'foreign table';
        what := format('of %s the rows of %s are on another server', _orders,
                       order_sweep.foreign_part(_orders));
        why := 'A commit is of one server: a crash could leave half a cancel.';
        mend := 'Detach it, and define a sweep on the server that has its rows.';
        RETURN NEXT;
    END IF;
    IF s.settings IS NULL AND order_sweep.is_bound(_orders, s.owner) THEN
        item := 'row security';
        what := format('the policies of %s hide rows from role %I', s.orders, s.owner);
        why := 'Every call raises rather than pass hidden orders in silence.';
        mend := 'Call define with settings, if the policies are wanted, or with '
                'a run_as that they do not bind.';
        RETURN NEXT;
    END IF;
    level := 'warn';
    FOR what IN
        SELECT format('trigger %I of %s may swallow or undo the update',
                      t.tgname, t.tgrelid::regclass)
          FROM pg_trigger t
          JOIN pg_proc p ON p.oid = t.tgfoid
          JOIN pg_language l ON l.oid = p.prolang
         WHERE t.tgrelid = ANY (_all) AND NOT t.tgisinternal
           AND t.tgparentid = 0 AND t.tgenabled <> 'D'
           -- for each row (1), before (2) or instead (64), of an update (16)
           AND t.tgtype & 17 = 17 AND t.tgtype & 66 <> 0
           AND (l.lanname <> 'plpgsql'
                OR order_sweep.may_undo(s, t.tgrelid, p.prosrc))
        UNION ALL
        SELECT format('rule %I of %s acts instead of the update', r.rulename,
                      r.ev_class::regclass)
          FROM pg_rewrite r
         WHERE r.ev_class = ANY (_all) AND r.ev_type = '2' AND r.is_instead
    LOOP
        item := 'trigger';
        why := 'What swallows the update, or sets the status back, makes each '
               'order fail.';
        mend := 'See that it lets the update of set pass.';
        RETURN NEXT;
    END LOOP;
    FOR what IN
        SELECT format('%s is partitioned by %I, which set changes',
                      p.partrelid::regclass, a.attname)
          FROM pg_partitioned_table p
          JOIN pg_attribute a ON a.attrelid = p.partrelid
                             AND a.attnum = ANY (p.partattrs::int2[])
         WHERE p.partrelid = ANY (_all)
           AND a.attname = ANY (order_sweep.assigned(s.set)) LOOP
        item := 'partition key';
        why := 'Each cancel moves its row to another partition: a delete and an '
               'insert, which a payment in flight through a foreign key meets '
               'as an error.';
        mend := 'Partition by a column that does not change.';
        RETURN NEXT;
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.check_table IS
    'what there is about the orders table that makes a run fail or lie';

CREATE OR REPLACE FUNCTION order_sweep.check_unique(s order_sweep.sweep)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _orders regclass := order_sweep.relation(s.orders);
    _kind "char" := (SELECT c.relkind FROM pg_class c WHERE c.oid = _orders);
    _key text := (SELECT string_agg(quote_ident(k), ', ' ORDER BY n)
                    FROM unnest(s.key) WITH ORDINALITY AS u(k, n));
BEGIN
    -- Of a view nothing can be known; that a column is gone, or the table, is
    -- told already.
    IF _kind NOT IN ('r', 'p') OR order_sweep.is_unique(_orders, s.key)
       OR cardinality(s.key) <> (
           SELECT count(*) FROM pg_attribute a
            WHERE a.attrelid = _orders AND a.attname = ANY (s.key)
              AND NOT a.attisdropped) THEN
        RETURN;
    END IF;
    level := 'warn';
    item := 'key';
    what := format('no unique index of %s lies within (%s)', s.orders, _key);
    why := 'A key that matches two rows fails that order.';
    IF EXISTS (SELECT FROM pg_partitioned_table p
                CROSS JOIN unnest(p.partattrs::int2[]) n
                 LEFT JOIN pg_attribute a ON a.attrelid = p.partrelid
                                         AND a.attnum = n
                WHERE p.partrelid = ANY (order_sweep.relations(_orders))
                  AND (a.attname = ANY (s.key)) IS NOT TRUE) THEN
        mend := 'Call order_sweep.define with a key that holds the columns that '
                'the table is partitioned by, and make it unique.';
    ELSE
        mend := format('CREATE UNIQUE INDEX %sON %s (%s);',
            CASE _kind WHEN 'p' THEN '' ELSE 'CONCURRENTLY ' END, s.orders, _key);
    END IF;
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION order_sweep.check_unique IS
    'is the key still unique, as define looks at it';
