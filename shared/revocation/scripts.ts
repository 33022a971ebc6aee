/*
 * The scripts that run inside Redis (7 or newer, Valkey too), each atomically.
 *
 * A replica refuses each of them: what it holds may be overwritten by its new primary. `#!lua` without the flag
 * no-writes does that for a replica that is read-only, and PRIMARY for one with `replica-read-only no`.
 * The keys are in ARGV, not in KEYS: Redis judges what a script does to ARGV keys command by command, but asks for
 * the right to both read and write every one of KEYS, which a user that may only read the marker does not have.
 * (Only Redis Cluster needs KEYS.)
 */

export const PRIMARY = `if string.find(redis.call('info', 'replication'), 'role:slave', 1, true) then
  return redis.error_reply('READONLY a replica answers')
end`

export const SERVER = `${PRIMARY}
local info = redis.call('info', 'server')
local run_id = string.match(info, 'run_id:(%x+)')`

/** ARGV: marker, entries… → their values. */
export const ASK = `#!lua
${PRIMARY}
return redis.call('mget', unpack(ARGV))`

/** ARGV: tick counter, marker → [run_id, the counter's new value, marker or nil]. */
export const TICK = `#!lua
${SERVER}
return {run_id, redis.call('incr', ARGV[1]), redis.call('get', ARGV[2])}`

/** ARGV: entry, its life in ms, marker → [run_id, marker or nil]. */
export const REVOKE = `#!lua
${SERVER}
redis.call('set', ARGV[1], '1', 'px', ARGV[2])
return {run_id, redis.call('get', ARGV[3])}`
