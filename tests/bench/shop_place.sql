-- A buyer places an order of two goods: their stock, the order, its lines.
\set one random(1, 999)
\set other random(:one + 1, 1000)
BEGIN;
UPDATE shop.sku SET stock = stock - 1 WHERE id = :one AND stock > 0;
UPDATE shop.sku SET stock = stock - 1 WHERE id = :other AND stock > 0;
INSERT INTO shop.orders (id, buyer_id)
VALUES (nextval('shop.order_id'), :client_id)
RETURNING id \gset
INSERT INTO shop.order_items VALUES (:id, :one, 1), (:id, :other, 1);
COMMIT;
