-- What the flash sale adds to the sample shop (sql/sample): requests, and what
-- is told of closed orders.
--
--     psql -v pieces=200 -f sale.sql

INSERT INTO shop.goods (id, name, price, offered, stock)
VALUES (1, 'Enamel kettle, 1.5 l', 19.90, :pieces, :pieces);

CREATE TABLE shop.request (
    id       text PRIMARY KEY,
    order_id bigint UNIQUE REFERENCES shop.orders,
    why      text
);
COMMENT ON TABLE shop.request IS
    'What became of a request from the line: its order, or why there is none';
COMMENT ON COLUMN shop.request.id IS 'Id that the buyer''s page gave it';
COMMENT ON COLUMN shop.request.order_id IS 'The order';
COMMENT ON COLUMN shop.request.why IS 'Why there is none';

CREATE TABLE shop.blocked_buyer (buyer_id bigint PRIMARY KEY);
COMMENT ON TABLE shop.blocked_buyer IS
    'Who may not order, for reasons that only the shop knows';
COMMENT ON COLUMN shop.blocked_buyer.buyer_id IS 'The buyer';

CREATE FUNCTION shop.answer(r shop.request)
RETURNS json LANGUAGE sql STABLE AS $$
    SELECT CASE
           WHEN r.why IS NOT NULL THEN
               json_build_object('state', 'failed', 'why', r.why)
           ELSE json_build_object('state', 'ordered', 'order', o.id, 'until',
                    o.created + extract(epoch FROM s.after)::bigint)
           END
      FROM order_sweep.sweep s
      LEFT JOIN shop.orders o ON o.id = r.order_id
     WHERE s.name = 'cancel_unpaid'
$$;
COMMENT ON FUNCTION shop.answer IS
    'What the page is told of a request: the same each time';

CREATE FUNCTION shop.order_for(request_id text, buyer bigint, goods integer)
RETURNS json LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    r shop.request;
BEGIN
    -- Two workers with the same request: the second waits here for the first.
    INSERT INTO shop.request (id) VALUES (request_id) ON CONFLICT DO NOTHING;
    IF FOUND THEN
        BEGIN
            IF EXISTS (SELECT FROM shop.blocked_buyer WHERE buyer_id = buyer) THEN
                RAISE EXCEPTION 'buyer % is blocked', buyer;
            END IF;
            UPDATE shop.request
               SET order_id = shop.place_order(buyer, json_build_array(
                       json_build_object('goods_id', goods, 'quantity', 1))::jsonb)
             WHERE id = request_id;
        EXCEPTION WHEN raise_exception THEN
            UPDATE shop.request SET why = SQLERRM WHERE id = request_id;
        END;
    END IF;
    SELECT * INTO r FROM shop.request WHERE id = request_id;
    RETURN shop.answer(r);
END
$$;
COMMENT ON FUNCTION shop.order_for IS
    'The order of a request, made once however often it is asked for, or why '
    'there is none: what its page is told';

CREATE FUNCTION shop.pay(request_id text, order_id bigint)
RETURNS json LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM shop.request r
                    WHERE r.id = request_id AND r.order_id = pay.order_id) THEN
        RAISE EXCEPTION 'the order is not of this request';
    END IF;
    -- Paid twice is paid.
    IF NOT EXISTS (SELECT FROM shop.orders o
                    WHERE o.id = pay.order_id AND o.order_status = 2) THEN
        PERFORM shop.pay_order(pay.order_id, 19.90);
    END IF;
    RETURN json_build_object('state', 'paid', 'order', pay.order_id);
EXCEPTION WHEN raise_exception THEN
    RETURN json_build_object('state', 'too late', 'order', pay.order_id,
                             'why', SQLERRM);
END
$$;
COMMENT ON FUNCTION shop.pay IS
    'Pays the order of a request, or not: what its page is told';

-- A closed order, as one line for tell.sh: a command for Redis, a tab, a message
-- for the pages.
SELECT order_sweep.publish('cancel_unpaid', line => $$
    (SELECT format(E'FCALL give_back %s seen:%s buyers %s %s back_on_sale %s\t%s',
                   2 + count(*), e.id,
                   string_agg('stock:' || (g->>'goods_id'), ' '),
                   e.payload->>'buyer_id', string_agg(g->>'quantity', ' '),
                   jsonb_build_object('id', e.id, 'order', e.payload->'order_id',
                                      'buyer', e.payload->'buyer_id',
                                      'goods', e.payload->'goods'))
       FROM jsonb_array_elements(e.payload->'goods') g)
$$) \g /dev/null
