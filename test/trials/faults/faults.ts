import { decodeProtectedHeader } from 'jose'
import { runAdmin, succeeded } from '../../support/admin.ts'
import { repeat } from '../../support/repeat.ts'
import { asAdmin, freeze, restartEmpty, restartFrom } from '../../support/revocation.ts'
import type { TcpProxy } from '../../support/tcp-proxy.ts'
import { OUTSIDE_BLIND_MS } from './outside.ts'
import { type Outage, tokenHead } from './recorder.ts'
import type { Site } from './site.ts'
import type { Scene } from './traffic.ts'

const TWO_HOURS_S = 7_200
/** Two of them, there and back, are above what a process gives Redis to answer. */
const LATE_MS = 200
/** Longer than a query may take, and than a marker is believed. */
const LONG_MS = 7_000
/** Longer than an outside verifier goes on with the last copy of what is revoked. */
const BLIND_MS = 14_000

type End = () => unknown

export interface Fault {
  name: string
  /** While it lasts. */
  outage?: Outage
  /** Default: a few seconds, which differ. */
  lasts_ms?: number
  /** Strikes. Resolves with its end function, or with nothing if it is over when it has happened. */
  // biome-ignore lint/suspicious/noConfusingVoidType: most of what happens returns nothing.
  strike(scene: Scene): End | Promise<End | void>
}

const STORES_GONE: Outage = {
  what: 'neither store could be asked',
  services: ['auth', 'api'],
  // By what the stores had said to a request that came just before.
  remembered_ms: 500,
}
/** No outside verifier reaches the authorization server. */
const FEED_GONE: Outage = {
  what: `it has been cut off for ${OUTSIDE_BLIND_MS} ms`,
  services: ['outside'],
  remembered_ms: OUTSIDE_BLIND_MS,
}

/** Stretches of network. */
const NETWORKS = {
  redis: ({ services }: Scene) => services.map(({ redis }) => redis),
  redisOfOneApi: ({ random, api }: Scene) => [random.pick(api).redis],
  postgres: ({ services }: Scene) => services.map(({ postgres }) => postgres),
  bothStores: ({ services }: Scene) => services.flatMap(({ redis, postgres }) => [redis, postgres]),
  outside: ({ outside }: Scene) => [outside.network],
}
type Network = keyof typeof NETWORKS

const network = (name: Network, disturb: (proxy: TcpProxy) => void) => (scene: Scene) => {
  const proxies = NETWORKS[name](scene)
  for (const proxy of proxies) disturb(proxy)
  return () => {
    for (const proxy of proxies) proxy.heal()
  }
}
const cut = (name: Network) => network(name, (proxy) => proxy.cut())
const stall = (name: Network) => network(name, (proxy) => proxy.stall())
const reset = (name: Network) => (scene: Scene) =>
  repeat(300, () => {
    for (const proxy of NETWORKS[name](scene)) proxy.reset()
  })

const setRedis =
  (name: string, value: string, before: string) =>
  async ({ redis }: Scene) => {
    await asAdmin(redis, (admin) => admin.config('SET', name, value))
    return () => asAdmin(redis, (admin) => admin.config('SET', name, before))
  }

const lock =
  (table: string) =>
  async ({ db }: Scene) => {
    const transaction = await db.transaction()
    await transaction.raw(`lock table ${table} in access exclusive mode`)
    return () => transaction.rollback()
  }

const actAtRandomSite =
  (service: 'auth' | 'api', act: (site: Site) => End | Promise<End>) =>
  ({ random, ...scene }: Scene) =>
    act(random.pick<Site>(scene[service]))

async function postgresAhead({ db, redis }: Scene) {
  const shift = (seconds: number) => db.raw('update clock_shift set by = make_interval(secs => ?)', [seconds])
  await shift(TWO_HOURS_S)
  await asAdmin(redis, (admin) => admin.flushall())
  return () => shift(0)
}

/** The key of the newest token, as an operator does it. */
async function keyRevoked({ ownerUrl, redis, company, recorder, revoked }: Scene) {
  const { token } = company
  const kid = decodeProtectedHeader(token).kid as string
  recorder.revokedHeads.add(tokenHead(token))
  const env = { DATABASE_URL: ownerUrl, REDIS_URL: redis.url('api') }
  await succeeded(runAdmin(['key', 'revoke', kid, '--yes'], { env }))
  revoked.add({ what: `signing key ${kid}`, answeredBy: 'the operator', token })
}

export const FAULTS: readonly Fault[] = [
  { name: 'redis killed, back empty at once', strike: ({ redis }) => restartEmpty(redis) },
  {
    name: 'redis killed, back from an old dump',
    strike: ({ redis, oldDump }) => restartFrom(redis, oldDump),
  },
  {
    name: 'redis flushed, again and again',
    strike: ({ redis }) => repeat(100, () => asAdmin(redis, (admin) => admin.flushall())),
  },
  { name: 'redis stopped (SIGSTOP)', strike: ({ redis }) => freeze(redis) },
  { name: 'redis gone', strike: cut('redis') },
  { name: 'redis a black hole', strike: stall('redis') },
  { name: 'redis a black hole for one API process', strike: stall('redisOfOneApi') },
  { name: 'redis connections reset, again and again', strike: reset('redis') },
  { name: 'redis slower than the time-out', strike: network('redis', (proxy) => proxy.delay(LATE_MS)) },
  {
    name: 'redis policy allkeys-lru',
    lasts_ms: LONG_MS,
    strike: setRedis('maxmemory-policy', 'allkeys-lru', 'noeviction'),
  },
  { name: 'redis memory full', strike: setRedis('maxmemory', '1mb', '0') },
  { name: 'postgres killed, back at once', strike: ({ postgres }) => postgres.restart() },
  { name: 'postgres lost, a synchronous standby promoted', strike: ({ postgres }) => postgres.failOver() },
  { name: 'postgres gone', strike: cut('postgres') },
  { name: 'postgres stopped (SIGSTOP)', lasts_ms: LONG_MS, strike: ({ postgres }) => postgres.freeze() },
  { name: 'postgres a black hole', lasts_ms: LONG_MS, strike: stall('postgres') },
  { name: 'postgres connections reset, again and again', strike: reset('postgres') },
  { name: 'lock on oauth_clients', lasts_ms: LONG_MS, strike: lock('oauth_clients') },
  { name: 'lock on revoked_tokens', lasts_ms: LONG_MS, strike: lock('revoked_tokens') },
  { name: 'lock on sessions', lasts_ms: LONG_MS, strike: lock('sessions') },
  { name: 'lock on revocation_trust', lasts_ms: LONG_MS, strike: lock('revocation_trust') },
  { name: 'an auth process killed', strike: actAtRandomSite('auth', (site) => site.kill()) },
  { name: 'an auth process stopped (SIGSTOP)', strike: actAtRandomSite('auth', (site) => site.freeze()) },
  { name: 'an API process killed', strike: actAtRandomSite('api', (site) => site.kill()) },
  { name: 'an API process stopped (SIGSTOP)', strike: actAtRandomSite('api', (site) => site.freeze()) },
  { name: 'both stores gone', outage: STORES_GONE, strike: cut('bothStores') },
  { name: 'both stores black holes', lasts_ms: LONG_MS, outage: STORES_GONE, strike: stall('bothStores') },
  { name: 'postgres clock two hours ahead, redis flushed', strike: postgresAhead },
  { name: 'signing key revoked', strike: keyRevoked },
  { name: 'outside verifiers cut off', lasts_ms: BLIND_MS, outage: FEED_GONE, strike: cut('outside') },
  {
    name: 'outside verifiers in a black hole',
    lasts_ms: BLIND_MS,
    outage: FEED_GONE,
    strike: stall('outside'),
  },
]
