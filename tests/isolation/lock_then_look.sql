-- The same sweep over a view with a gate in it. The row is looked up, the gate
-- is passed, and only then the row is locked.
CREATE VIEW shop.gated AS SELECT * FROM shop.orders WHERE shop.gate(1);
UPDATE order_sweep.sweep SET orders = 'shop.gated';
SELECT order_sweep.regenerate();
-- The invariants look for sweeps of this table.
UPDATE order_sweep.sweep SET orders = 'shop.orders';
