-- A shop that puts the stock of an order back line by line, and stops before
-- each but the first at the gate of this number, if it is closed.
CREATE FUNCTION shop.put_back(number bigint) RETURNS void LANGUAGE plpgsql
-- So that a deadlock is what ends a wait.
SET lock_timeout = 0 AS $$
DECLARE
    back record;
BEGIN
    FOR back IN SELECT l.line, l.goods_id, l.quantity FROM shop.order_line l
                 WHERE l.order_id = number ORDER BY l.line LOOP
        IF back.line > 1 THEN
            PERFORM shop.gate(number::integer);
        END IF;
        UPDATE shop.goods SET stock = stock + back.quantity
         WHERE id = back.goods_id;
    END LOOP;
END $$;

-- In place of the sample's two statements for the stock.
UPDATE order_sweep.sweep
   SET each = ARRAY['SELECT shop.put_back($1)'] || each[3:],
       each_rows = ARRAY[true] || each_rows[3:];
SELECT order_sweep.regenerate();
