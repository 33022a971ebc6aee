import { setTimeout as sleep } from 'node:timers/promises'
import { listSigningKeys, signingKeyStates } from '#shared/oauth/signing-keys.ts'
import { markSigningKeyRevoked } from '../../../infra/admin/keys.ts'
import { createOperator } from '../../../infra/admin/operator.ts'
import { asAdmin, freeze, restartEmpty, restartFrom } from '../../support/revocation.ts'
import type { TcpProxy } from '../../support/tcp-proxy.ts'
import type { Random } from './random.ts'
import type { Recorder } from './recorder.ts'
import { keyOf, type RevokedThings } from './revoked.ts'
import type { ServiceSite, Site } from './site.ts'
import type { Traffic } from './traffic.ts'
import type { World } from './world.ts'

const TWO_HOURS_S = 7_200
/** Two of them, there and back, are above what a process gives Redis to answer. */
const LATE_MS = 200
/** Longer than a query may take, and than a marker is believed. */
const LONG_MS = 7_000
/** Longer than an outside verifier goes on with the last copy of what is revoked. */
const BLIND_MS = 14_000

export interface Scene {
  world: World
  random: Random
  recorder: Recorder
  traffic: Traffic
  revoked: RevokedThings
}

export interface Fault {
  name: string
  /** Neither store can be asked while it lasts. */
  storesGone?: true
  /** No outside verifier reaches the authorization server while it lasts. */
  feedGone?: true
  /** Default: a few seconds, which differ. */
  lasts_ms?: number
  /** Strikes. @returns its end function. */
  strike(scene: Scene): Promise<End>
}

type End = () => unknown
type Store = 'redis' | 'postgres' | 'both'

const all = (world: World, store: Store, act: (proxy: TcpProxy) => void): void => {
  for (const site of world.sites) {
    if (store !== 'postgres') act(site.redis)
    if (store !== 'redis') act(site.postgres)
  }
}

const network =
  (store: Store, break_: (proxy: TcpProxy) => void, mend = (proxy: TcpProxy) => proxy.heal()) =>
  async ({ world }: Scene): Promise<End> => {
    all(world, store, break_)
    return () => all(world, store, mend)
  }
/** What is over when it has happened. */
const event =
  (happen: (world: World) => Promise<void>) =>
  async ({ world }: Scene): Promise<End> => {
    await happen(world)
    return () => {}
  }

const cut = (store: Store) => network(store, (proxy) => proxy.cut())
const stall = (store: Store) => network(store, (proxy) => proxy.stall())

/** Again and again until it is ended, with so long between two. */
async function repeat(every_ms: number, act: () => unknown): Promise<End> {
  let ended = false
  const running = (async () => {
    for (; !ended; await sleep(every_ms)) await act()
  })()
  return () => {
    ended = true
    return running
  }
}

const reset =
  (store: Store) =>
  ({ world }: Scene) =>
    repeat(300, () => all(world, store, (proxy) => proxy.reset()))

const setRedis =
  (name: string, value: string, before: string) =>
  async ({ world: { redis } }: Scene): Promise<End> => {
    await asAdmin(redis, (admin) => admin.config('SET', name, value))
    return () => asAdmin(redis, (admin) => admin.config('SET', name, before))
  }

const lock =
  (table: string) =>
  async ({ world }: Scene): Promise<End> => {
    const transaction = await world.db.transaction()
    await transaction.raw(`lock table ${table} in access exclusive mode`)
    return () => transaction.rollback()
  }

const oneOf = (service: 'auth' | 'api', act: (site: ServiceSite) => Promise<End>) => (scene: Scene) =>
  act(scene.random.pick(scene.world[service]))
const killed = async (site: Site): Promise<End> => {
  await site.kill()
  return () => site.restart()
}
const stopped = async (site: Site): Promise<End> => site.freeze()

async function postgresAhead({ world: { db, redis } }: Scene): Promise<End> {
  const shift = (seconds: number) => db.raw('update clock_shift set by = make_interval(secs => ?)', [seconds])
  await shift(TWO_HOURS_S)
  await asAdmin(redis, (admin) => admin.flushall())
  return () => shift(0)
}

/** As an operator's command does it. */
async function keyRevoked({ world, traffic, revoked }: Scene): Promise<End> {
  const operator = createOperator({
    databaseUrl: world.ownerUrl,
    redisUrl: world.redis.url('api'),
    keyEncryptionKey: async () => undefined,
  })
  try {
    const states = signingKeyStates(await listSigningKeys(operator.db), Date.now())
    const kid = states.find(({ state }) => state === 'active')?.key.kid
    if (!kid) throw new Error('no key is active')
    const token = traffic.token()
    traffic.keyIsRevoked(kid)
    await operator
      .revocation()
      .revoke({ kind: 'key', id: kid }, (transaction) => markSigningKeyRevoked(transaction, kid, Date.now()))
    if (keyOf(token) === kid) revoked.add({ what: `signing key ${kid}`, answeredBy: 'the operator', token })
  } finally {
    await operator.close()
  }
  return () => {}
}

const outsideNetwork =
  (how: 'cut' | 'stall') =>
  async ({ world: { outside } }: Scene): Promise<End> => {
    outside.network[how]()
    return () => outside.network.heal()
  }

export const FAULTS: readonly Fault[] = [
  {
    name: 'redis killed, back empty at once',
    strike: event(({ redis }) => restartEmpty(redis)),
  },
  {
    name: 'redis killed, back from an old dump',
    strike: event(({ redis, oldDump }) => restartFrom(redis, oldDump)),
  },
  {
    name: 'redis flushed, again and again',
    strike: ({ world }) => repeat(100, () => asAdmin(world.redis, (admin) => admin.flushall())),
  },
  { name: 'redis stopped (SIGSTOP)', strike: ({ world }) => freeze(world.redis) },
  { name: 'redis gone', strike: cut('redis') },
  { name: 'redis a black hole', strike: stall('redis') },
  {
    name: 'redis a black hole for one API process',
    strike: oneOf('api', async ({ redis }) => {
      redis.stall()
      return () => redis.heal()
    }),
  },
  { name: 'redis connections reset, again and again', strike: reset('redis') },
  {
    name: 'redis slower than the time-out',
    strike: network(
      'redis',
      (proxy) => proxy.delay(LATE_MS),
      (proxy) => proxy.delay(0),
    ),
  },
  {
    name: 'redis policy allkeys-lru',
    lasts_ms: LONG_MS,
    strike: setRedis('maxmemory-policy', 'allkeys-lru', 'noeviction'),
  },
  { name: 'redis memory full', strike: setRedis('maxmemory', '1mb', '0') },
  {
    name: 'postgres killed, back at once',
    strike: event(({ postgres }) => postgres.restart()),
  },
  {
    name: 'postgres lost, a synchronous standby promoted',
    strike: event(({ postgres, db }) => postgres.failOver(db)),
  },
  { name: 'postgres gone', strike: cut('postgres') },
  {
    name: 'postgres stopped (SIGSTOP)',
    lasts_ms: LONG_MS,
    strike: ({ world }) => world.postgres.freeze(world.db),
  },
  { name: 'postgres a black hole', lasts_ms: LONG_MS, strike: stall('postgres') },
  { name: 'postgres connections reset, again and again', strike: reset('postgres') },
  { name: 'lock on oauth_clients', lasts_ms: LONG_MS, strike: lock('oauth_clients') },
  { name: 'lock on revoked_tokens', lasts_ms: LONG_MS, strike: lock('revoked_tokens') },
  { name: 'lock on sessions', lasts_ms: LONG_MS, strike: lock('sessions') },
  { name: 'lock on revocation_trust', lasts_ms: LONG_MS, strike: lock('revocation_trust') },
  { name: 'an auth process killed', strike: oneOf('auth', killed) },
  { name: 'an auth process stopped (SIGSTOP)', strike: oneOf('auth', stopped) },
  { name: 'an API process killed', strike: oneOf('api', killed) },
  { name: 'an API process stopped (SIGSTOP)', strike: oneOf('api', stopped) },
  { name: 'both stores gone', storesGone: true, strike: cut('both') },
  { name: 'both stores black holes', lasts_ms: LONG_MS, storesGone: true, strike: stall('both') },
  { name: 'postgres clock two hours ahead, redis flushed', strike: postgresAhead },
  { name: 'signing key revoked', strike: keyRevoked },
  { name: 'outside verifiers cut off', lasts_ms: BLIND_MS, feedGone: true, strike: outsideNetwork('cut') },
  {
    name: 'outside verifiers in a black hole',
    lasts_ms: BLIND_MS,
    feedGone: true,
    strike: outsideNetwork('stall'),
  },
]
