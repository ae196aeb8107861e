-- Names that need quotes everywhere, and a role with few rights.
--
-- check | index | the table has no index on its clock
-- no mutation | rules | the status says all
-- no mutation | each | there is nothing to give back

-- May own what define generates.
SELECT order_sweep.grant_define_to('pg_database_owner');

SELECT order_sweep.define(
    sweep   => 'stornieren',

    -- orders is a table's name as SQL writes it, key the bare names of its
    -- columns, all others are SQL.
    orders  => '"Mein Shop"."Größe ""select"""',
    key     => '{Id}',
    unpaid  => $$o."status" = 1$$,
    since   => '"time"',
    after   => '30 minutes',

    -- However old: there is no history here that a first run could spoil.
    max_age => NULL,

    set     => $$"status" = 3,
                 "Kurz" = 'storno',
                 "Notiz" = 'Frist''s Ablauf; -- $1 "x" %s'$$,

    -- The sweep runs with the rights of this role, which may read the table
    -- and change three of its columns, not with those of the caller.
    run_as  => 'pg_database_owner'
);
