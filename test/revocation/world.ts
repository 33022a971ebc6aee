import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Entry, Subject } from '#shared/revocation/subject.ts'
import { createPostgres, type Database } from '#shared/stores/postgres.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import type { Step } from '../../apps/api/revocation/round.ts'
import { repeat } from '../support/repeat.ts'
import {
  asAdmin,
  createSubjects,
  dump,
  FAST,
  freeze,
  newJti,
  promote,
  replicate,
  restartEmpty,
  restartFrom,
  revokeClient,
  revokeKey,
  revokeToken,
  startNetworked,
  type TestProcess,
} from '../support/revocation.ts'
import type { TestDatabase, TestRedis } from '../support/servers.ts'

/** Half of the other tests' times. */
const TIMINGS = { ...FAST, lease_ms: 250, settle_ms: 300, tick_ms: 50, retry_ms: 25, askPostgres_ms: 250 }
/** More than are revoked in one history. */
const CASES = 60
/** How many of the newest revocations are asked about all the time. */
const WATCHED = 8
/** Subjects that are asked about in one turn of the event loop share one question to a store. */
const WATCH_MS = 10
/** Redis decides again within this after the last fault is mended: many times what an idle machine takes. */
const RECOVERY_MS = 180_000

export type Store = 'redis' | 'postgres'
export type NetworkFault = 'cut' | 'stall'
export type ServerFault = 'flush' | 'restartEmpty' | 'restartOld' | 'keepMarker'

interface Site {
  process: Awaited<ReturnType<typeof startNetworked>>
  broken: Record<Store, boolean>
  /** Which Redis server its network leads to. */
  server: number
  atStep: { step: Step; act: () => Promise<void> } | undefined
}

/** A client, one token of it, and the key that signed the token. */
type Case = { clientId: string; jti: string; kid: string }

type Revoked = { kind: Entry['kind']; about: Case }

export type RevocationWorld = Awaited<ReturnType<typeof createRevocationWorld>>

/**
 * Processes, each with a network of its own to two Redis servers and one Postgres, all real; what can befall
 * them; and a watch that asks every process about every subject all the time and writes down every broken
 * promise.
 */
export async function createRevocationWorld({
  database,
  servers,
  sites: count,
}: {
  database: TestDatabase
  servers: readonly [TestRedis, TestRedis]
  sites: number
}) {
  const owner = createPostgres({ url: database.ownerUrl, poolSize: 2, applicationName: 'world' })
  const { vendorId, cases, live } = await createCases(owner)
  const sites = await Promise.all(Array.from({ length: count }, () => createSite()))
  const startedAt_ms = performance.now()
  const violations: string[] = []
  const history: string[] = []
  const revocations: Revoked[] = []
  const revoking = new Set<string>()
  const answered = new Set<string>()
  const pending = new Set<Promise<unknown>>()
  const dumps = new Map<number, string>()
  const frozen = new Map<number, () => void>()
  const replicas = new Set<number>()
  const down = new Set<number>()
  /** Rises with every fault and every repair. */
  let epoch = 0
  let busy: Promise<unknown> = Promise.resolve()

  async function createSite(): Promise<Site> {
    const process = await startNetworked({
      server: servers[0],
      databaseUrl: database.ownerUrl,
      timings: TIMINGS,
      statementTimeout_ms: 1_000,
      async step(step) {
        const due = site.atStep
        if (due?.step !== step) return
        site.atStep = undefined
        await due.act()
      },
    })
    const site: Site = { process, broken: { redis: false, postgres: false }, server: 0, atStep: undefined }
    return site
  }

  const siteAt = (index: number): Site => sites[index % sites.length] as Site
  const serverAt = (index: number): TestRedis => servers[index % 2] as TestRedis
  const say = (line: string) => history.push(`${(performance.now() - startedAt_ms).toFixed(0)} ms: ${line}`)
  const violated = (line: string) => {
    say(`VIOLATION: ${line}`)
    violations.push(line)
  }
  const track = (work: Promise<unknown>) => {
    const done = work.catch((error: Error) => say(error.message)).finally(() => pending.delete(done))
    pending.add(done)
  }

  /** Makes changes to the servers one at a time. */
  function queueChange(what: string, act: () => Promise<unknown> | unknown): Promise<void> {
    const done = busy.then(async () => {
      epoch += 1
      say(what)
      await act()
      say(`${what}: done`)
      epoch += 1
    })
    busy = done.catch(() => {})
    return done
  }

  const isBlind = ({ broken, server }: Site): boolean =>
    broken.postgres && (broken.redis || frozen.has(server) || down.has(server))

  /** Whether a server that is being started takes connections already, before that is known here. */
  const isStarted = (index: number): Promise<boolean> =>
    new Promise((resolve) => {
      if (!down.has(index)) return resolve(false)
      const socket = connect(serverAt(index).port, '127.0.0.1', () => resolve(true))
      socket.on('error', () => resolve(false)).on('connect', () => socket.destroy())
    })

  const listIds = ({ clientId, jti, kid }: Subject): string[] =>
    [clientId, jti, kid].filter((id) => id !== undefined)

  async function check(index: number, subject: Subject): Promise<void> {
    const site = siteAt(index)
    const asked = { refused: listIds(subject).some((id) => answered.has(id)), blind: isBlind(site), epoch }
    const standing = await site.process.revocation.ask(subject)
    const about = `site ${index} about ${JSON.stringify(subject)}: ${JSON.stringify(standing)}`
    if (asked.refused && standing === 'live') violated(`after its revocation was answered, ${about}`)
    if (asked.blind && asked.epoch === epoch && standing !== 'undecided' && !(await isStarted(site.server)))
      violated(`with both stores away, ${about}`)
    if (typeof standing === 'object' && !listIds(subject).some((id) => revoking.has(id)))
      violated(`never revoked, ${about}`)
  }

  const listSubjects = ({ clientId, jti, kid }: Case): Subject[] => [{ clientId }, { clientId, jti, kid }]
  const watched = (): Subject[] =>
    [...revocations.slice(-WATCHED).map(({ about }) => about), live].flatMap(listSubjects)

  /** Returns what a process must answer, decided by Redis, once everything is mended. */
  const listAnswers = (): [Subject, RegExp][] => [
    [{ clientId: live.clientId }, /^live by redis$/],
    ...revocations
      .flatMap(({ about }) => listSubjects(about))
      .filter((subject) => listIds(subject).some((id) => answered.has(id)))
      .map((subject): [Subject, RegExp] => [subject, / revoked by redis$/]),
  ]

  function commit(process: TestProcess, { kind, about: { clientId, jti, kid } }: Revoked): Promise<unknown> {
    if (kind === 'client') return revokeClient(process, { vendorId, clientId })
    if (kind === 'token') return revokeToken(process, { clientId, jti })
    return revokeKey(process, kid)
  }

  function run(site: number, revocation: Revoked): void {
    const { clientId, jti, kid } = revocation.about
    const id = { client: clientId, token: jti, key: kid }[revocation.kind]
    const what = `site ${site} revokes ${revocation.kind} ${id}`
    say(what)
    revoking.add(id)
    track(
      commit(siteAt(site).process, revocation).then(() => {
        answered.add(id)
        say(`${what}: answered`)
        for (const subject of listSubjects(revocation.about).filter((one) => listIds(one).includes(id)))
          for (const index of sites.keys()) track(check(index, subject))
      }),
    )
  }

  async function strike(index: number, fault: ServerFault): Promise<void> {
    const server = serverAt(index)
    if (fault === 'restartEmpty' || fault === 'restartOld') {
      const file = dumps.get(index)
      down.add(index)
      // A server that does not run any more is not frozen either, nor a replica.
      frozen.delete(index)
      replicas.delete(index)
      await (fault === 'restartOld' && file ? restartFrom(server, file) : restartEmpty(server))
      down.delete(index)
    } else if (!frozen.has(index)) {
      // On a replica both are refused or change nothing that could be believed.
      await asAdmin<unknown>(server, (redis) =>
        fault === 'flush' ? redis.flushall() : redis.persist(redisKeys.revocationMarker),
      ).catch(() => {})
    }
  }

  const loops = sites.slice(0, -1).map(({ process }) => process.keepReconciling())
  const watches = sites.map((_, index) =>
    repeat(WATCH_MS, () => Promise.all(watched().map((subject) => check(index, subject)))),
  )

  const world = {
    violations,
    /** What happened, line by line, with the time. */
    history,
    /** Revokes a new client, token or key. */
    revoke(site: number, kind: Entry['kind']) {
      const revocation = { kind, about: cases[revocations.length % cases.length] as Case }
      revocations.push(revocation)
      run(site, revocation)
    },
    /** Repeats the revocation of `ago` revocations ago, answered or not. */
    revokeAgain(site: number, ago: number) {
      const revocation = revocations.at(-1 - ago)
      if (revocation) run(site, revocation)
    },
    breakNetwork(site: number, store: Store, fault: NetworkFault) {
      epoch += 1
      say(`site ${site}: network to ${store}: ${fault}`)
      siteAt(site).process.networks[store][fault]()
      siteAt(site).broken[store] = true
    },
    mendNetwork(site: number, store: Store) {
      epoch += 1
      say(`site ${site}: network to ${store} mended`)
      siteAt(site).process.networks[store].heal()
      siteAt(site).broken[store] = false
    },
    /** Leads a site's network to the other Redis server, as a fail-over does. */
    lead(site: number, server: number) {
      epoch += 1
      say(`site ${site}: led to server ${server}`)
      const { process, broken } = siteAt(site)
      const { redis } = process.networks
      redis.lead(serverAt(server).port)
      redis.heal()
      broken.redis = false
      siteAt(site).server = server
    },
    dump: (index: number) =>
      queueChange(`server ${index}: dump`, async () => {
        if (!frozen.has(index)) dumps.set(index, await dump(serverAt(index)))
      }),
    befall: (server: number, fault: ServerFault) =>
      queueChange(`server ${server}: ${fault}`, () => strike(server, fault)),
    /** Makes it happen in the middle of the site's next round. */
    befallAtStep(index: number, step: Step, fault: ServerFault) {
      const site = siteAt(index)
      site.atStep = {
        step,
        act: () =>
          queueChange(`server ${site.server}: ${fault} after ${step}`, () => strike(site.server, fault)),
      }
    },
    freeze: (index: number) =>
      queueChange(`server ${index}: freeze`, async () => {
        if (!frozen.has(index)) frozen.set(index, await freeze(serverAt(index)))
      }),
    thaw: (index: number) =>
      queueChange(`server ${index}: thaw`, () => {
        frozen.get(index)?.()
        frozen.delete(index)
      }),
    /** The server becomes a replica of the other and takes over its data; a promotion ends that. */
    demote: (index: number) =>
      queueChange(`server ${index}: demote`, async () => {
        const other = 1 - index
        if (frozen.size > 0 || replicas.has(other)) return
        await replicate(serverAt(other), serverAt(index))
        replicas.add(index)
      }),
    promote: (index: number) =>
      queueChange(`server ${index}: promote`, async () => {
        if (!frozen.has(index) && replicas.delete(index)) await promote(serverAt(index))
      }),
    /** Repairs everything, and waits until every process is right about everything, decided by Redis. */
    async recover(): Promise<void> {
      for (const site of sites) site.atStep = undefined
      for (const index of servers.keys()) {
        await world.thaw(index)
        await world.promote(index)
      }
      for (const index of sites.keys()) {
        world.lead(index, 0)
        world.mendNetwork(index, 'postgres')
      }
      say('everything is mended')
      while (pending.size > 0) await Promise.all(pending)
      const end_ms = performance.now() + RECOVERY_MS
      // One after another: on a busy machine a lease may lapse before all have been asked.
      for (const { process } of sites)
        for (const [subject, answer] of listAnswers())
          while (!answer.test(await process.ask(subject))) {
            if (performance.now() > end_ms) return violated(`not recovered about ${JSON.stringify(subject)}`)
            await sleep(20)
          }
      say('every process is right')
    },
    async close() {
      await Promise.all([...watches, ...loops].map((stop) => stop()))
      await busy
      for (const thaw of frozen.values()) thaw()
      for (const index of replicas) await promote(serverAt(index))
      await Promise.all(sites.map(({ process }) => process[Symbol.asyncDispose]()))
      for (const server of servers) await asAdmin(server, (redis) => redis.flushall())
      await owner.destroy()
    },
  }
  await world.recover()
  return world
}

async function createCases(owner: Database): Promise<{ vendorId: string; cases: Case[]; live: Case }> {
  const subjects = await createSubjects(owner)
  const newCase = async (): Promise<Case> => ({
    clientId: await subjects.newClient(),
    jti: newJti(),
    kid: await subjects.newKey(),
  })
  const live = await newCase()
  const cases: Case[] = []
  while (cases.length < CASES) cases.push(await newCase())
  return { vendorId: subjects.vendorId, cases, live }
}
