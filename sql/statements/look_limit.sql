-- The one setting that the first look needs: the others are pinned to what it
-- calls.  The count for a progress line has a limit of its own, too.  $1: limit
-- of a statement in ms.
SELECT pg_catalog.set_config('statement_timeout', $1::pg_catalog.text, true)
