-- Each statement sees what is committed before it.
BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED
