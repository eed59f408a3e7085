import { MAX_AHEAD_MS } from '../accounts.ts';
import { PLACE_RETRY_MS, RESERVED_RETRY_MS } from '../rates.ts';

/*
 * The rules of `rates.ts` and `accounts.ts` as scripts for Redis and Valkey. Each script is atomic. `contract.ts`
 * requires the same behavior of both.
 *
 * A scope has two keys: a hash of counts (`r<second>`: requests, `t<second>`: tokens, `h<second>`: reserved tokens), and a
 * sorted set of requests in flight by the time at which they count as ended. An account has two keys: a hash, and a sorted set of reservations (`<nano-dollars>
 * <reservation>`) by expiry. The hash has the creation time `e`, the reserved sum `held`, and for each window its start
 * `s1`… and its spending `n1`….
 *
 * Money is integer nano-dollars in Lua's doubles. It is exact up to nine million dollars, which is the maximum limit.
 * Above that, the error is one or two nano-dollars.
 */

const now = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;
/** Formats a number. Lua would write 1e+15, and Redis rejects -0. */
const write = `
local function write(number) return number == 0 and '0' or string.format('%.0f', number) end
`;

/** Works like `updateAccount`. Needs `now`. Returns the spending in the window. */
const update = `
local function update(account, window, start, booked)
  local known = redis.call('HMGET', account, 's' .. window, 'n' .. window)
  local knownStart, spent = tonumber(known[1] or -1), tonumber(known[2] or 0)
  if start < knownStart and knownStart <= now + ${MAX_AHEAD_MS} then return spent end
  if start == knownStart and booked <= spent then return spent end
  redis.call('HSET', account, 's' .. window, write(start), 'n' .. window, write(booked))
  return booked
end
`;

/** The first number of the answer to an admitted request. */
export const ADMITTED = -1;

/**
 * KEYS: counts and requests in flight of each scope. ARGV: id, whether it counts as concurrent (1, 0), lease (ms), tokens
 * to reserve, then for each scope its limits of requests, tokens and concurrent requests. Returns `ADMITTED`, the time
 * (ms) and for each scope its requests and its tokens; or the scope (from 0), the limit (0: requests, 1: tokens, 2:
 * concurrent requests), the milliseconds until it may admit a request again, what remains and whether the rest is
 * reserved (1, 0).
 */
export const admitScript = `${now}
local slice = math.floor(now / 1000)
local oldest = slice - 59
local wanted = tonumber(ARGV[4])
local kinds = { r = 1, t = 2, h = 3 }
local answer = { ${ADMITTED}, now }

local function freeIn(counts, sum, limit)
  for each = oldest, slice do
    if sum < limit then return math.max(0, (each + 59) * 1000 - now) end
    sum = sum - (counts[each] or 0)
  end
  return (slice + 60) * 1000 - now
end

for scope = 0, #KEYS / 2 - 1 do
  local key = KEYS[scope * 2 + 1]
  local limits = { tonumber(ARGV[scope * 3 + 5]), tonumber(ARGV[scope * 3 + 6]) }
  local places = tonumber(ARGV[scope * 3 + 7])
  local sums = { 0, 0, 0 }
  if limits[1] > 0 or limits[2] > 0 then
    local counts = { {}, {}, {} }
    local old = {}
    local fields = redis.call('HGETALL', key)
    for at = 1, #fields, 2 do
      local kind = kinds[string.sub(fields[at], 1, 1)]
      local second = tonumber(string.sub(fields[at], 2))
      if second < oldest or second >= slice + 60 then
        old[#old + 1] = fields[at]
      else
        counts[kind][second] = tonumber(fields[at + 1])
        sums[kind] = sums[kind] + counts[kind][second]
      end
    end
    if #old > 0 then redis.call('HDEL', key, unpack(old)) end
    for kind = 1, 2 do
      if limits[kind] > 0 and sums[kind] >= limits[kind] then
        return { scope, kind - 1, freeIn(counts[kind], sums[kind], limits[kind]), 0, 0 }
      end
    end
    local used = sums[2] + sums[3]
    if limits[2] > 0 and sums[3] > 0 and used + wanted > limits[2] then
      return { scope, 1, ${RESERVED_RETRY_MS}, math.max(0, limits[2] - used), 1 }
    end
  end
  if ARGV[2] == '1' and places > 0 then
    redis.call('ZREMRANGEBYSCORE', KEYS[scope * 2 + 2], '-inf', now)
    if redis.call('ZCARD', KEYS[scope * 2 + 2]) >= places then return { scope, 2, ${PLACE_RETRY_MS}, 0, 0 } end
  end
  answer[scope * 2 + 3] = sums[1] + 1
  answer[scope * 2 + 4] = sums[2] + sums[3] + wanted
end

for scope = 0, #KEYS / 2 - 1 do
  local key, open = KEYS[scope * 2 + 1], KEYS[scope * 2 + 2]
  redis.call('HINCRBY', key, string.format('r%d', slice), 1)
  if wanted > 0 then redis.call('HINCRBY', key, string.format('h%d', slice), wanted) end
  redis.call('PEXPIRE', key, 61000)
  if ARGV[2] == '1' and tonumber(ARGV[scope * 3 + 7]) > 0 then
    redis.call('ZADD', open, now + tonumber(ARGV[3]), ARGV[1])
    redis.call('PEXPIRE', open, ARGV[3])
  end
end
return answer
`;

/**
 * KEYS: as above. ARGV: id, tokens, whether to take back the newest request (1, 0), so that it does not count, then the
 * second and the tokens of its reservation, which end.
 */
export const leaveScript = `${now}
for at = 1, #KEYS, 2 do
  if ARGV[3] == '1' then
    local slice = math.floor(now / 1000)
    for second = slice, slice - 59, -1 do
      local field = string.format('r%d', second)
      if tonumber(redis.call('HGET', KEYS[at], field) or 0) > 0 then
        redis.call('HINCRBY', KEYS[at], field, -1)
        break
      end
    end
  end
  local held = string.format('h%d', ARGV[4])
  local reserved = math.min(tonumber(ARGV[5]), tonumber(redis.call('HGET', KEYS[at], held) or 0))
  if reserved > 0 then redis.call('HINCRBY', KEYS[at], held, -reserved) end
  if tonumber(ARGV[2]) > 0 then
    redis.call('HINCRBY', KEYS[at], string.format('t%d', math.floor(now / 1000)), ARGV[2])
    redis.call('PEXPIRE', KEYS[at], 61000)
  end
  redis.call('ZREM', KEYS[at + 1], ARGV[1])
end
`;

/** Sent instead of the creation time of an account. */
export const FIRST_USE = 0;
export const CURRENT = -1;

/**
 * KEYS: the account and the reservations of each claim. ARGV: id, how long it is reserved (ms), the creation time of
 * each account as far as the process knows it (`FIRST_USE`: it has not used the account; `CURRENT`: the sums are
 * current), then for each claim: nano-dollars, start and recorded sum of each of the four windows, the number of
 * limits, and for each limit its window (1 to 4), its nano-dollars and whether it is exhausted when reached (1, 0).
 * Returns `held` and the creation time of each account; `unknown` or `forgotten`; or `refused`, the claim and its limit
 * (from 0), the amount spent and the amount reserved.
 */
export const reserveScript = `${now}${write}${update}
local created = { 'held' }
local isUnknown = false
for claim = 1, #KEYS / 2 do
  local known = ARGV[2 + claim]
  local epoch = redis.call('HGET', KEYS[claim * 2 - 1], 'e')
  if known == '${FIRST_USE}' then
    isUnknown = isUnknown or not epoch
  elseif known ~= '${CURRENT}' and known ~= epoch then
    return { 'forgotten' }
  end
  created[claim + 1] = epoch or write(now)
end
if isUnknown then return { 'unknown' } end

local claims = {}
local at = 3 + #KEYS / 2
for claim = 1, #KEYS / 2 do
  local account, holds = KEYS[claim * 2 - 1], KEYS[claim * 2]
  local nano = tonumber(ARGV[at])
  redis.call('HSET', account, 'e', created[claim + 1])
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', holds, '-inf', now)) do
    redis.call('ZREM', holds, member)
    redis.call('HINCRBY', account, 'held', write(-tonumber(string.match(member, '^%d+'))))
  end
  local spent = {}
  for window = 1, 4 do
    spent[window] = update(account, window, tonumber(ARGV[at + window * 2 - 1]), tonumber(ARGV[at + window * 2]))
  end
  local held = tonumber(redis.call('HGET', account, 'held') or 0)
  redis.call('PEXPIRE', account, math.max(86400000, 2 * tonumber(ARGV[2])))
  at = at + 9
  local count = tonumber(ARGV[at])
  for window = 1, 4 do
    for limit = 0, count - 1 do
      local place = at + 1 + limit * 3
      if tonumber(ARGV[place]) == window then
        local most = tonumber(ARGV[place + 1])
        if spent[window] + held + nano > most or (ARGV[place + 2] == '1' and spent[window] >= most) then
          return { 'refused', claim - 1, limit, write(spent[window]), write(held) }
        end
      end
    end
  end
  claims[claim] = ARGV[at - 9]
  at = at + 1 + count * 3
end

for claim, nano in ipairs(claims) do
  if redis.call('ZADD', KEYS[claim * 2], now + tonumber(ARGV[2]), nano .. ' ' .. ARGV[1]) == 1 then
    redis.call('HINCRBY', KEYS[claim * 2 - 1], 'held', nano)
  end
  redis.call('PEXPIRE', KEYS[claim * 2], math.max(86400000, 2 * tonumber(ARGV[2])))
end
return created
`;

/** KEYS: as above. ARGV: id, start of the request (ms), then for each claim the amounts reserved and spent. */
export const settleScript = `${write}
for claim = 1, #KEYS / 2 do
  local account, holds = KEYS[claim * 2 - 1], KEYS[claim * 2]
  local held, spent = ARGV[claim * 2 + 1], ARGV[claim * 2 + 2]
  if redis.call('ZREM', holds, held .. ' ' .. ARGV[1]) == 1 then
    redis.call('HINCRBY', account, 'held', write(-tonumber(held)))
    for window = 1, 4 do
      local start = tonumber(redis.call('HGET', account, 's' .. window) or 0)
      if tonumber(ARGV[2]) >= start then redis.call('HINCRBY', account, 'n' .. window, spent) end
    end
  end
end
`;

/**
 * KEYS: as above. ARGV: for each claim the start and the recorded sum of each of the four windows, then the ended ids.
 */
export const releaseScript = `${now}${write}${update}
local ended = {}
for at = #KEYS * 4 + 1, #ARGV do ended[ARGV[at]] = true end
for claim = 1, #KEYS / 2 do
  local account, holds = KEYS[claim * 2 - 1], KEYS[claim * 2]
  for window = 1, 4 do
    local at = (claim - 1) * 8 + window * 2 - 1
    update(account, window, tonumber(ARGV[at]), tonumber(ARGV[at + 1]))
  end
  for _, member in ipairs(redis.call('ZRANGE', holds, 0, -1)) do
    local nano, id, request = string.match(member, '^(%d+) (([^.]*).*)$')
    if ended[id] or ended[request] then
      redis.call('ZREM', holds, member)
      redis.call('HINCRBY', account, 'held', write(-tonumber(nano)))
    end
  end
  if redis.call('PTTL', account) == -1 then redis.call('PEXPIRE', account, 86400000) end
end
`;
