#!lua name=flash_sale

-- The sale's door in Redis 7: a request is looked at, and the piece taken, in
-- one call that nothing comes between.
--     redis-cli -x FUNCTION LOAD REPLACE <sale.lua
--
--     stock:GOODS      pieces left; where it is not there, so are the goods
--     open             is there while the sale is open
--     buyers           who has an order, or is in line for one
--     request:ID       what became of a request: "in line" or "failed"
--     requests         the stream that the workers read

-- A request is known for so many seconds.
local KNOWN = 24 * 60 * 60

-- FCALL ask 5 request:ID stock:GOODS open buyers requests ID BUYER GOODS
--
-- The reply is the ID, a space, and "in line" or why not.  The same request
-- asked again has the same reply, and takes no second piece: so who has had no
-- reply asks again.
local function ask(keys, args)
    local request, stock, open, buyers, requests = unpack(keys)
    local id, buyer, goods = unpack(args)

    local function reply(text)
        return id .. ' ' .. text
    end
    -- Workers put these into SQL and topics: nothing else comes past here.
    if not string.match(id, '^[%w-]+$') or #id > 64
            or not string.match(buyer, '^%d+$') or #buyer > 15
            or not string.match(goods, '^%d+$') or #goods > 15 then
        return redis.error_reply('ERR ask: no request')
    end
    if redis.call('EXISTS', request) == 1 then
        return reply('in line')
    end
    local left = redis.call('GET', stock)
    if not left then
        return reply('unknown goods')
    end
    if redis.call('EXISTS', open) == 0 then
        return reply('not open')
    end
    if redis.call('SISMEMBER', buyers, buyer) == 1 then
        return reply('one each')
    end
    if tonumber(left) <= 0 then
        return reply('sold out')
    end
    redis.call('DECR', stock)
    redis.call('SADD', buyers, buyer)
    redis.call('SET', request, 'in line', 'EX', KNOWN)
    redis.call('XADD', requests, '*', 'request', id, 'buyer', buyer,
               'goods', goods)
    return reply('in line')
end

-- FCALL undo 3 request:ID stock:GOODS buyers BUYER
--
-- No order was made of a request: its piece and its buyer's mark go back, once,
-- however often it is called.
local function undo(keys, args)
    local request, stock, buyers = unpack(keys)

    if redis.call('GET', request) ~= 'in line' then
        return 0
    end
    redis.call('SET', request, 'failed', 'EX', KNOWN)
    redis.call('INCR', stock)
    redis.call('SREM', buyers, args[1])
    return 1
end

-- FCALL take 1 requests WORKER COUNT IDLE
--
-- What the worker is to do: first what others have held for IDLE milliseconds,
-- for they may be dead, then what is new; a line each: its id in the stream,
-- the request's, buyer and goods.
local function take(keys, args)
    local requests = keys[1]
    local worker, count, idle = unpack(args)
    local lines = {}

    local function add(entries)
        for _, entry in ipairs(entries) do
            local f = entry[2]
            table.insert(lines, table.concat({entry[1], f[2], f[4], f[6]}, ' '))
        end
    end
    add(redis.call('XAUTOCLAIM', requests, 'workers', worker, idle, '0',
                   'COUNT', count)[2])
    if #lines == 0 then
        local new = redis.call('XREADGROUP', 'GROUP', 'workers', worker,
                               'COUNT', count, 'STREAMS', requests, '>')
        if new then
            add(new[1][2])
        end
    end
    return lines
end

redis.register_function('ask', ask)
redis.register_function('undo', undo)
redis.register_function('take', take)
