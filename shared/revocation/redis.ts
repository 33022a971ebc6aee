import { redisKeys } from '#shared/stores/redis-keys.ts'
import type { Entry } from './subject.ts'

/*
 * The scripts that run inside Redis (7 or newer, Valkey too), each atomically. Those of a round are in
 * apps/api/revocation/round-scripts.ts.
 *
 * A replica refuses all of them: its new primary may overwrite what it holds. `#!lua` without the flag
 * no-writes does that for a read-only replica, and PRIMARY for one with `replica-read-only no`.
 * The keys are in ARGV, not in KEYS. Redis checks a user's rights to ARGV keys by command, but requires the
 * right to both read and write each of KEYS, which a user that may only read the marker lacks. (Only Redis
 * Cluster needs KEYS.)
 */

/** The beginning of each script. */
export const PRIMARY = `if string.find(redis.call('info', 'replication'), 'role:slave', 1, true) then
  return redis.error_reply('READONLY a replica answers')
end`

/** The same, with the server's run_id. */
export const SERVER = `${PRIMARY}
local info = redis.call('info', 'server')
local run_id = string.match(info, 'run_id:(%x+)')`

export const entryKey = ({ kind, id }: Entry): string => redisKeys.revoked(kind, id)

/** ARGV: marker, entries… → their values. */
export const ASK = `#!lua
${PRIMARY}
return redis.call('mget', unpack(ARGV))`

/** ARGV: tick counter, marker or page → [run_id, the counter's new value, marker or page or nil]. */
export const TICK = `#!lua
${SERVER}
return {run_id, redis.call('incr', ARGV[1]), redis.call('get', ARGV[2])}`

/** ARGV: entry, its life in ms, marker → [run_id, marker or nil]. */
export const REVOKE = `#!lua
${SERVER}
redis.call('set', ARGV[1], '1', 'px', ARGV[2])
return {run_id, redis.call('get', ARGV[3])}`

/** ARGV: page, the words that it must begin with still, what replaces it, its life in ms → 1 if it did. */
export const PUT_PAGE = `#!lua
${PRIMARY}
if string.match(redis.call('get', ARGV[1]) or '', '^%S* ?%S* ?%S*') ~= ARGV[2] then return 0 end
redis.call('set', ARGV[1], ARGV[3], 'px', ARGV[4])
return 1`
