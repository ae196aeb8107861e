-- The one setting that the first look needs: the others are pinned to what it
-- calls.  $1: limit of a statement in ms.
SELECT pg_catalog.set_config('statement_timeout', $1::pg_catalog.text, true)
