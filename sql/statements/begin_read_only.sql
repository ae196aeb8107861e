-- A dry run: one snapshot, and the server refuses any write.
BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY
