import { setTimeout as sleep } from 'node:timers/promises'
import { tokenFields } from '../../support/auth.ts'
import { repeat } from '../../support/repeat.ts'
import type { Ledger } from './ledger.ts'
import { createRandom, type Random } from './random.ts'
import type { Answer, Call, Recorder } from './recorder.ts'
import type { RevokedThings } from './revoked.ts'
import type { Site } from './site.ts'
import { type Credentials, dailyCall, tokenCall, type World } from './world.ts'

const LIVES_AT_ONCE = 8
const BATCH_EVENTS = 3
const TRY_PAUSE_MS = 20
const JSON_BODY = { 'content-type': 'application/json' }

/** What callers, faults and checks work with. */
export interface Scene extends World {
  recorder: Recorder
  ledger: Ledger
  revoked: RevokedThings
  seed: string
  /** The generator for faults. */
  random: Random
  /** The pause of each worker between two requests. */
  pause_ms: number
  /** Aborted when the traffic is to end. */
  ending: AbortSignal
}

/**
 * Starts workers for each process, so that one that hangs does not stop requests to the others. Returns a
 * function that resolves when every worker has finished its work, after `ending`.
 */
export async function startTraffic(scene: Scene): Promise<() => Promise<unknown>> {
  const { auth, api, outside, sites, company, recorder, revoked, seed, pause_ms } = scene
  const { vendorId, client, sessionToken } = company
  const path = `/v1/vendor/${vendorId}/oauth-clients?limit=20`
  async function newToken(site: Site): Promise<void> {
    const { good, json } = await recorder.call({ operation: 'token', site, ...tokenCall(client) })
    if (good) company.token = json.access_token
  }

  while (company.token === '') await newToken(auth[0])
  const acts = [
    ...auth.map((site) => () => newToken(site)),
    ...[...api, ...api].map((site) => () => read(scene, site)),
    ...api.map((site) => () => recorder.call({ operation: 'workspace', site, path, bearer: sessionToken })),
    ...api.map((site) => createReporter(scene, site)),
    () => recorder.call({ operation: 'outside', site: outside, ...dailyCall(company) }),
    ...Array.from({ length: LIVES_AT_ONCE }, (_, i) => createLife(scene, `life-${i}`)),
  ]
  const ends = acts.map((act) => repeat(pause_ms, act))
  for (const site of sites) {
    const random = createRandom(`${seed} tries ${site.name}`)
    ends.push(repeat(TRY_PAUSE_MS, () => revoked.tryAny(site, random)))
  }
  return () => Promise.all(ends.map((end) => end()))
}

/** The figures must hold every click that had been acknowledged before the request. */
async function read({ company, recorder, ledger }: Scene, site: Site): Promise<void> {
  const acknowledged = ledger.eventsAcknowledged.size
  const { good, json } = await recorder.call({ operation: 'read', site, ...dailyCall(company) })
  if (good && json.totals.clicks < acknowledged)
    recorder.violation(
      `read at ${site.name}: ${json.totals.clicks} clicks, ${acknowledged} were acknowledged before`,
    )
}

/** Sends a request to a random process until an answer is good. Returns that, or undefined at the end. */
async function untilGood(
  { recorder, pause_ms, ending }: Scene,
  random: Random,
  sites: readonly Site[],
  callAt: (site: Site) => Omit<Call, 'site'>,
): Promise<Answer | undefined> {
  for (; !ending.aborted; await sleep(pause_ms)) {
    const site = random.pick(sites)
    const answer = await recorder.call({ ...callAt(site), site })
    if (answer.good) return answer
  }
}

/** Reports events at one process, then anywhere until they are acknowledged, and sometimes once more. */
function createReporter(scene: Scene, site: Site): () => Promise<void> {
  const { api, company, recorder, ledger, seed } = scene
  const random = createRandom(`${seed} events ${site.name}`)
  const path = `/v1/analytics/${company.vendorId}/events`
  let count = 0
  return async () => {
    const events = Array.from({ length: BATCH_EVENTS }, () => {
      const eventId = `${site.name}/${++count}`
      ledger.eventsSent.add(eventId)
      return { eventId, type: 'click', occurredAt: new Date().toISOString() }
    })
    const [headers, body] = [JSON_BODY, JSON.stringify({ events })]
    const call = () => ({ operation: 'ingest', path, bearer: company.token, headers, body }) as const
    const countedMust = ({ site: { name }, json }: Answer, allowed: number[]) => {
      const { accepted, duplicates } = json
      if (!allowed.includes(accepted) || accepted + duplicates !== BATCH_EVENTS)
        recorder.violation(`ingest at ${name}: ${JSON.stringify(json)}, not ${allowed} accepted`)
    }
    const first = await recorder.call({ ...call(), site })
    const answer = first.good ? first : await untilGood(scene, random, api, call)
    if (!answer) return
    countedMust(answer, first.good ? [BATCH_EVENTS] : [0, BATCH_EVENTS])
    for (const { eventId } of events) ledger.eventsAcknowledged.add(eventId)
    if (random.next() < 0.2) {
      const again = await recorder.call({ ...call(), site: random.pick(api) })
      if (again.good) countedMust(again, [0])
    }
  }
}

/**
 * Runs a client from creation to end: it gets two tokens and revokes the first, then the owner revokes the
 * client. Each step goes to a random process, and to others until it is done.
 */
function createLife(scene: Scene, name: string): () => Promise<void> {
  const { auth, api, company, ledger, revoked, seed } = scene
  const random = createRandom(`${seed} ${name}`)
  const path = `/v1/vendor/${company.vendorId}/oauth-clients`
  const bearer = company.sessionToken
  let lives = 0

  async function requestToken(client: Credentials): Promise<string | undefined> {
    const request = { operation: 'token', ...tokenCall(client) } as const
    const answer = await untilGood(scene, random, auth, () => request)
    return answer?.json.access_token
  }

  return async () => {
    const key = `${name}/${++lives}`
    ledger.clients.set(key, undefined)
    const creation = await untilGood(scene, random, api, () => ({
      operation: 'workspace',
      path,
      bearer,
      headers: { ...JSON_BODY, 'idempotency-key': key },
      body: JSON.stringify({ name: key, scopes: ['analytics:read'] }),
    }))
    if (!creation) return
    const client: Credentials = creation.json
    const { clientId } = client
    ledger.clients.set(key, clientId)
    // A repeat of a creation whose answer was lost has no secret.
    const [first, second] = client.clientSecret
      ? [await requestToken(client), await requestToken(client)]
      : []
    if (first)
      await untilGood(scene, random, auth, ({ name: answeredBy }) => ({
        operation: 'revoke',
        path: '/v1/oauth/revoke',
        body: new URLSearchParams({ ...tokenFields(client), token: first }),
        atHead(status) {
          if (status === 200) revoked.add({ what: `token of ${clientId}`, answeredBy, token: first })
        },
      }))
    await untilGood(scene, random, api, ({ name: answeredBy }) => ({
      operation: 'revoke',
      path: `${path}/${clientId}/revoke`,
      bearer,
      method: 'POST',
      atHead(status) {
        if (status !== 200) return
        ledger.clientsRevoked.add(clientId)
        if (second) revoked.add({ what: `client ${clientId}`, answeredBy, token: second, client })
      },
    }))
  }
}
