-- Forget what was prepared.
DEALLOCATE ALL
