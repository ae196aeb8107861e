-- A buyer pays an order: one that is due, now and then, else one that is not.
\set late random(1, 10)
\set due random(1, :due)
\set new random(:due + 1, :total)
\set id case when :late = 1 then :due else :new end
UPDATE shop.orders SET status = 'paid' WHERE id = :id AND status = 'unpaid';
