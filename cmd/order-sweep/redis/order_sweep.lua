#!lua name=order_sweep

-- What order-sweep's events do in Redis 7, each once, however often it is
-- delivered.  Loaded with
--     redis-cli -x FUNCTION LOAD REPLACE <order_sweep.lua
-- and called by lines that order-sweep relay feeds to redis-cli --pipe.

-- An event is known for so many seconds: longer than anybody delivers it again.
local KNOWN = 30 * 24 * 60 * 60

local function new(key)
    return redis.call('EXISTS', key) == 0
end

local function remember(key)
    redis.call('SET', key, 1, 'EX', KNOWN)
end

local function type_of(key)
    return redis.call('TYPE', key).ok
end

-- FCALL give_back N seen marks stock [stock]... buyer channel quantity...
--
-- Returns the stock of an order that was closed: each counter rises by its
-- quantity, the buyer leaves the set of those who have bought, and a counter
-- that was at nothing is told on the channel as back on sale.  A counter that is
-- not there is not made.  The reply is 1, or 0 for an event that was seen.
--
-- Nothing is changed where a key or a quantity is not what it should be: what
-- can fail is looked at first, for Redis takes nothing back.
local function give_back(keys, args)
    local seen, marks = keys[1], keys[2]
    local buyer, channel = args[1], args[2]

    if #keys < 3 or #args ~= #keys then
        return redis.error_reply('ERR give_back: wants seen, marks and stock '
            .. 'as keys, then buyer, channel and a quantity for each stock')
    end
    if not new(seen) then
        return 0
    end
    if type_of(marks) ~= 'none' and type_of(marks) ~= 'set' then
        return redis.error_reply('ERR give_back: ' .. marks .. ' is no set')
    end
    for i = 3, #keys do
        if not string.match(args[i], '^%d+$') then
            return redis.error_reply('ERR give_back: "' .. args[i]
                .. '" is no quantity')
        end
        if type_of(keys[i]) ~= 'none' and (type_of(keys[i]) ~= 'string'
                or not string.match(redis.call('GET', keys[i]), '^-?%d+$')) then
            return redis.error_reply('ERR give_back: ' .. keys[i]
                .. ' is no number')
        end
    end

    for i = 3, #keys do
        if not new(keys[i]) then
            local before = tonumber(redis.call('GET', keys[i]))
            local after = redis.call('INCRBY', keys[i], args[i])
            if before <= 0 and after > 0 then
                redis.call('PUBLISH', channel, keys[i])
            end
        end
    end
    redis.call('SREM', marks, buyer)
    remember(seen)
    return 1
end

-- FCALL hand_over 2 seen stream text
--
-- Appends the event to a stream, for the workers of a consumer group.  The reply
-- is its id there, or 0 for an event that was seen.
local function hand_over(keys, args)
    if #keys ~= 2 or #args ~= 1 then
        return redis.error_reply('ERR hand_over: wants seen and stream as '
            .. 'keys, then the text')
    end
    if not new(keys[1]) then
        return 0
    end
    local id = redis.call('XADD', keys[2], '*', 'event', args[1])
    remember(keys[1])
    return id
end

redis.register_function('give_back', give_back)
redis.register_function('hand_over', hand_over)
