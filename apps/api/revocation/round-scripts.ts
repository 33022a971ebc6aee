import { z } from 'zod'
import { PRIMARY, SERVER } from '#shared/revocation/redis.ts'

/* The scripts of a round, by the rules of shared/revocation/redis.ts. */

/** ARGV: nonce key, new nonce, its life in ms, tick counter, marker, what was seen → RoundBegin, as JSON. */
export const BEGIN = `#!lua
${SERVER}
local time = redis.call('time')
local old_nonce = redis.call('get', ARGV[1])
redis.call('set', ARGV[1], ARGV[2], 'px', ARGV[3])
return cjson.encode({
  runId = run_id,
  policy = string.match(redis.call('info', 'memory'), 'maxmemory_policy:(%S+)'),
  evicted = string.match(redis.call('info', 'stats'), 'evicted_keys:(%d+)'),
  time_ms = time[1] * 1000 + math.floor(time[2] / 1000),
  tick = redis.call('incr', ARGV[4]),
  oldNonce = old_nonce or '',
  marker = redis.call('get', ARGV[5]) or '',
  markerLeft_ms = redis.call('pttl', ARGV[5]),
  seen = redis.call('get', ARGV[6]) or '',
})`

/** What a server says of itself when a round begins; '' for a key that it does not have. */
export const RoundBegin = z.object({
  runId: z.string(),
  policy: z.string(),
  /** How many keys it has evicted so far. */
  evicted: z.string(),
  time_ms: z.int(),
  tick: z.int(),
  oldNonce: z.string(),
  marker: z.string(),
  markerLeft_ms: z.int(),
  seen: z.string(),
})

/** ARGV: nonce key, nonce, life of an entry in ms, entries… → 1, or 0 when the nonce is gone. */
export const ADD = `#!lua
${PRIMARY}
if redis.call('get', ARGV[1]) ~= ARGV[2] then return 0 end
for i = 4, #ARGV do redis.call('set', ARGV[i], '1', 'px', ARGV[3]) end
return 1`

/**
 * ARGV: run_id, keys evicted by the beginning, nonce key, nonce, marker, its value, its end in epoch ms, key
 * and value of what is seen → 'marked', or why not.
 */
export const MARK = `#!lua
${SERVER}
if run_id ~= ARGV[1] then return 'another server answers' end
local policy = string.match(redis.call('info', 'memory'), 'maxmemory_policy:(%S+)')
if policy ~= 'noeviction' then return 'the eviction policy is ' .. policy end
local evicted = string.match(redis.call('info', 'stats'), 'evicted_keys:(%d+)')
if evicted ~= ARGV[2] then return 'keys were evicted' end
if redis.call('get', ARGV[3]) ~= ARGV[4] then return 'the server was flushed' end
redis.call('set', ARGV[5], ARGV[6], 'pxat', ARGV[7])
redis.call('set', ARGV[8], ARGV[9])
return 'marked'`

/** ARGV: cursor, pattern, places to look at → [run_id, [next cursor, keys]]. */
export const SCAN = `#!lua
${SERVER}
return {run_id, redis.call('scan', ARGV[1], 'match', ARGV[2], 'count', ARGV[3])}`
