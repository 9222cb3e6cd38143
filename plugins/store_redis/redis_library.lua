-- What the store asks of Redis beyond single commands: compare-and-swap, each unit guarded by itself.
-- SPDX-License-Identifier: Apache-2.0
--
-- The program puts two lines before this text: the library's name, and `local suffix`; both hold a hash of the text,
-- so that versions live side by side. Numbers stay text, for a Lua number is a double; only counts become numbers.
-- While it loads, nothing is there but redis.register_function. A script is not rolled back, so the types of all keys
-- of a unit are looked at before its first write.

local FIRST, LAST = '-29', '-3' -- where a value's token stands
local SLICE = 7000          -- unpack() fails near 8000; even, so that pairs stay together
local PRUNED = '4'          -- members looked at when one is listed
local words = {zset = 'sorted set'}

-- Why a key cannot be used as what is wanted, or nil.
local function misplaced(key, wanted)
    local found = redis.call('TYPE', key).ok
    if found == 'none' or found == wanted then
        return nil
    end
    return 'key ' .. key .. ': holds a ' .. (words[found] or found) .. ', not a ' .. (words[wanted] or wanted) ..
           ': another program writes under our prefix'
end

local function text_of(failure)
    return type(failure) == 'table' and failure.err or tostring(failure)
end

local function set(key, value, expiry)
    if expiry == '' then
        return redis.pcall('SET', key, value)
    end
    return redis.pcall('SET', key, value, 'PXAT', expiry)
end

local function expire(key, expiry)
    if expiry == '' then
        redis.call('PERSIST', key)
    else
        redis.call('PEXPIREAT', key, expiry)
    end
end

-- How many of what a unit has beside its value, and how many KEYS and ARGV these take.
local function measure(shape)
    local parts, beside, sides, open, entries = shape:match('(%d+) (%d) (%d+) (%d) (%d+)')
    local u = {parts = tonumber(parts), beside = beside == '1', sides = tonumber(sides), open = open,
               entries = tonumber(entries)}
    u.keys = tonumber(beside) + u.sides + (open ~= '0' and 1 or 0) + (u.entries > 0 and 1 or 0)
    u.args = 2 * u.parts + 2 * u.sides + (open == '1' and 1 or 0) + u.entries
    return u
end

-- The unit's other keys by name, and why one of them cannot be used.
local function place(u, keys, k)
    local why
    if u.beside then
        k = k + 1
        u.parts_key = keys[k]
        why = u.parts > 0 and misplaced(u.parts_key, 'hash') or nil
    end
    u.side_keys = k
    for i = 1, u.sides do
        why = why or misplaced(keys[k + i], 'string')
    end
    k = k + u.sides
    if u.open ~= '0' then
        k = k + 1
        u.open_key = keys[k]
        why = why or misplaced(u.open_key, 'zset')
    end
    if u.entries > 0 then
        u.log_key = keys[k + 1]
        why = why or misplaced(u.log_key, 'stream')
    end
    return why
end

local function write_parts(u, args, a, expiry)
    local last = a + 2 * u.parts
    for from = a + 1, last, SLICE do
        redis.call('HSET', u.parts_key, unpack(args, from, math.min(from + SLICE - 1, last)))
    end
    expire(u.parts_key, expiry)
end

local function write_sides(u, keys, args, a)
    for i = 1, u.sides do
        local value, expiry = args[a + 2 * i - 1], args[a + 2 * i]
        if value == '' then
            redis.call('DEL', keys[u.side_keys + i])
        elseif expiry == '' then
            redis.call('SET', keys[u.side_keys + i], value)
        else
            redis.call('SET', keys[u.side_keys + i], value, 'PXAT', expiry)
        end
    end
end

-- A cell that expired takes nothing off the list of what is open. Some others are looked at each time one is listed, so
-- those that are gone stay few beside those that are not.
local function list_open(open_key, score, member)
    redis.call('ZADD', open_key, score, member)
    for _, other in ipairs(redis.call('ZRANDMEMBER', open_key, PRUNED)) do
        if redis.call('EXISTS', other) == 0 then
            redis.call('ZREM', open_key, other)
        end
    end
end

-- All of a unit but its value.
local function write_rest(u, key, keys, args, a, expiry, log_max)
    if u.beside then
        write_parts(u, args, a, expiry)
        a = a + 2 * u.parts
    end
    write_sides(u, keys, args, a)
    a = a + 2 * u.sides
    if u.open == '1' then
        list_open(u.open_key, args[a + 1], key)
        a = a + 1
    elseif u.open == '2' then
        redis.call('ZREM', u.open_key, key)
    end
    for i = 1, u.entries do
        redis.call('XADD', u.log_key, 'MAXLEN', '~', log_max, '*', 'json', args[a + i])
    end
end

-- The code of a unit whose token is as expected, and why where it is not W.
local function write_unit(u, key, value, expiry, keys, k, args, a, log_max)
    local why = place(u, keys, k)
    if why then
        return 'F', why
    end
    if value ~= '' then
        local done = set(key, value, expiry)
        if done.err then
            return 'F', 'key ' .. key .. ': ' .. done.err
        end
    end
    local ok, failure = pcall(write_rest, u, key, keys, args, a, expiry, log_max)
    if ok then
        return 'W'
    end
    return 'U', 'key ' .. key .. ': ' .. text_of(failure) -- types fit, so this is a permission or a limit
end

-- Whether a unit's token is the expected one; else its code and detail. Only the token is read, not the value: what
-- passes through Lua is hashed byte by byte.
local function compare(key, token)
    local now
    if token ~= '' and redis.pcall('GETRANGE', key, FIRST, LAST) == token then
        return nil
    end
    now = redis.pcall('GET', key)
    if type(now) == 'table' then
        return 'F', misplaced(key, 'string') or text_of(now)
    end
    if now or token ~= '' then
        return 'L', now or ''
    end
end

-- Values without expiry, all written by one command.
local function swap_lasting(n, keys, args, a, codes, details)
    local bulk, units, m = {}, {}, 0
    for i = 1, n do
        local code, detail = compare(keys[i], args[a + 1])
        if code then
            codes[i], details[i] = code, detail
        else
            bulk[2 * m + 1], bulk[2 * m + 2] = keys[i], args[a + 2]
            m = m + 1
            units[m] = i
        end
        a = a + 2
    end
    if m > 0 then
        local done = redis.pcall('MSET', unpack(bulk))
        for i = 1, (done.err and m or 0) do
            codes[units[i]], details[units[i]] = 'F', 'key ' .. keys[units[i]] .. ': ' .. done.err
        end
    end
    return a
end

local function update_expiring(key, token, value, expiry)
    local code, detail = compare(key, token)
    if not code then
        local done
        if expiry == 'keep' then
            done = redis.pcall('SET', key, value, 'KEEPTTL')
        else
            done = redis.pcall('SET', key, value, 'PXAT', expiry)
        end
        if done.err then
            return 'F', 'key ' .. key .. ': ' .. done.err
        end
    end
    return code, detail
end

local function swap_expiring(k, n, keys, args, a, codes, details)
    for i = k + 1, k + n do
        codes[i], details[i] = update_expiring(keys[i], args[a + 1], args[a + 2], args[a + 3])
        a = a + 3
    end
    return a
end

local function swap_others(k, n, keys, args, a, codes, details)
    local log_max, others = args[4], k + n
    for i = k + 1, k + n do
        local shape, token, value, expiry = args[a + 1], args[a + 2], args[a + 3], args[a + 4]
        local u = measure(shape)
        local code, detail
        a = a + 4
        if string.sub(shape, -5) ~= 'alone' then
            code, detail = compare(keys[i], token)
        end
        if not code then
            code, detail = write_unit(u, keys[i], value, expiry, keys, others, args, a, log_max)
        end
        codes[i], details[i] = code, detail
        others, a = others + u.keys, a + u.args
    end
end

-- Units of three kinds, no key among them twice: values without expiry, values with one, and those with more.
-- KEYS: of each its key (of one that only appends, the log's), then of each of the third kind its other keys.
-- ARGV: how many of each kind, the log's bound, then of each unit
--   first kind   expected token, new value
--   second kind  expected token, new value, expiry (`keep`: the one that is there)
--   third kind   shape, expected token, new value, expiry, and what the shape counts: `parts beside sides open
--                entries` (beside: the parts' key is given; open: 1 add, 2 remove) and perhaps a sixth word `alone`:
--                only entries, nothing is compared
-- Answers nothing if all are won. Else one letter a unit, W won, L lost, F failed, U part of it may be done; then of
-- each that is not W, in order, the value that is there (L) or a text.
local function swap(KEYS, ARGV)
    local lasting, expiring, others = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
    local codes, details, answer = {}, {}, {}
    local a = swap_lasting(lasting, KEYS, ARGV, 4, codes, details)
    a = swap_expiring(lasting, expiring, KEYS, ARGV, a, codes, details)
    swap_others(lasting + expiring, others, KEYS, ARGV, a, codes, details)
    if next(details) then
        for i = 1, lasting + expiring + others do
            codes[i] = codes[i] or 'W'
            if codes[i] ~= 'W' then
                answer[#answer + 1] = details[i] or ''
            end
        end
        table.insert(answer, 1, table.concat(codes))
    end
    return answer
end

local function fields_of(key, args, from, last)
    if last - from < SLICE then
        return redis.pcall('HMGET', key, unpack(args, from, last))
    end
    local found = {}
    for first = from, last, SLICE do
        local slice = redis.pcall('HMGET', key, unpack(args, first, math.min(first + SLICE - 1, last)))
        if slice.err then
            return slice
        end
        for i = 1, #slice do
            found[#found + 1] = slice[i]
        end
    end
    return found
end

-- KEYS: n units' keys, then their n parts' keys. ARGV: n, then of each: token, count (or `all`), names.
-- Answers of each: 0 the token is another; a list of values, or of names and values; or a text, why not.
local function parts(KEYS, ARGV)
    local n = tonumber(ARGV[1])
    local answer, a = {}, 1
    for i = 1, n do
        local token, count = ARGV[a + 1], ARGV[a + 2]
        local names = count == 'all' and 0 or tonumber(count)
        a = a + 2
        if redis.pcall('GETRANGE', KEYS[i], FIRST, LAST) ~= token then
            answer[i] = misplaced(KEYS[i], 'string') or 0
        else
            local found = {}
            if count == 'all' then
                found = redis.pcall('HGETALL', KEYS[n + i])
            elseif names > 0 then
                found = fields_of(KEYS[n + i], ARGV, a + 1, a + names)
            end
            answer[i] = found.err and (misplaced(KEYS[n + i], 'hash') or found.err) or found
        end
        a = a + names
    end
    return answer
end

local function incarnation()
    local run = redis.call('INFO', 'server'):match('run_id:(%w+)')
    local replication = redis.call('INFO', 'replication'):match('master_replid:(%w+)')
    return (run or '?') .. '/' .. (replication or '?')
end

local function identity()
    return incarnation()
end

-- KEYS: the note. ARGV: expected, new, its life in ms, incarnation; each may be empty. Answers 1 done, 0 not.
local function note(KEYS, ARGV)
    local key, expected, value, life, same_as = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
    local why = misplaced(key, 'string')
    if why then
        return redis.error_reply('WRONGTYPE ' .. why)
    end
    if (same_as ~= '' and incarnation() ~= same_as) or (redis.call('GET', key) or '') ~= expected then
        return 0
    end
    if value == '' then
        redis.call('DEL', key)
    elseif life == '' then
        redis.call('SET', key, value)
    else
        redis.call('SET', key, value, 'PX', life)
    end
    return 1
end

-- Adds id and text of each entry; one that was trimmed away meanwhile has none.
local function add_entries(answer, entries)
    for _, entry in ipairs(entries) do
        answer[#answer + 1] = entry[1]
        answer[#answer + 1] = entry[2] and entry[2][2] or ''
    end
end

-- Entries that another held for too long, oldest first.
local function claim_idle(key, consumer, idle, most, answer)
    local cursor = '0-0'
    repeat
        local left = most - #answer / 2
        local page = redis.call('XAUTOCLAIM', key, 'rr', consumer, idle, cursor, 'COUNT', left)
        add_entries(answer, page[2])
        cursor = page[1]
    until cursor == '0-0' or #answer / 2 >= most
end

-- KEYS: the log. ARGV: consumer, idle time in ms, how many. Answers ids and texts in turn.
local function log(KEYS, ARGV)
    local key, consumer, idle, most, answer = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3]), {}
    local why = misplaced(key, 'stream')
    if why then
        return redis.error_reply('WRONGTYPE ' .. why)
    end
    if redis.call('EXISTS', key) == 0 then
        return answer
    end
    redis.pcall('XGROUP', 'CREATE', key, 'rr', '0') -- BUSYGROUP: it is there already
    claim_idle(key, consumer, idle, most, answer)
    if #answer / 2 < most then
        local news = redis.call('XREADGROUP', 'GROUP', 'rr', consumer, 'COUNT', most - #answer / 2, 'STREAMS', key, '>')
        if news then
            add_entries(answer, news[1][2])
        end
    end
    return answer
end

local function register(name, callback, flags)
    redis.register_function{function_name = 'rr_' .. name .. '_' .. suffix, callback = callback, flags = flags}
end

register('swap', swap, {})
register('parts', parts, {'no-writes'})
register('identity', identity, {'no-writes'})
register('note', note, {})
register('log', log, {})
