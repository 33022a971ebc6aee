import { setTimeout as sleep } from 'node:timers/promises'
import type { Ledger } from './ledger.ts'
import type { Random } from './random.ts'
import { type Answer, type Call, dailyRead, outsideRead, type Recorder, tokenRequest } from './recorder.ts'
import { keyOf, type RevokedThings } from './revoked.ts'
import type { Site } from './site.ts'
import type { ClientSecret, Company, World } from './world.ts'

const LIVES_AT_ONCE = 8
const BATCH_EVENTS = 3
const SCOPES = 'analytics:read analytics:write'

export interface TrafficOptions {
  world: World
  company: Company
  recorder: Recorder
  ledger: Ledger
  revoked: RevokedThings
  random: Random
  /** Of each worker between two requests. */
  pause_ms: number
}

export type Traffic = Awaited<ReturnType<typeof startTraffic>>

/** Workers for each process, so that one that hangs keeps nobody from asking the others. */
export async function startTraffic(options: TrafficOptions) {
  const { world, company, recorder, revoked, random } = options
  const { auth, api, outside } = world
  const revokedKeys = new Set<string>()
  let stopping = false
  let token = ''
  const stopped = () => stopping

  /** One of good standing was told that it is not. */
  const isWronged = ({ status }: Answer, bearer = company.sessionToken) =>
    status === 401 && (bearer === company.sessionToken || !revokedKeys.has(keyOf(bearer)))
  const ask = async (call: Call) => {
    const answer = await recorder.call(call)
    const { operation, site, json } = answer
    if (isWronged(answer, call.bearer))
      recorder.violation(`${operation} at ${site.name}: 401 to what nobody revoked: ${JSON.stringify(json)}`)
    return answer
  }

  async function tokens(site: Site): Promise<void> {
    const answer = await ask({ operation: 'token', site, ...tokenRequest(company.client, SCOPES) })
    if (answer.good) token = answer.json.access_token
  }

  const acts: Acts = { ...options, token: () => token, ask, stopped }
  const workers: Promise<void>[] = []
  const keepDoing = (act: () => Promise<unknown>) =>
    workers.push(
      (async () => {
        for (; !stopping; await sleep(options.pause_ms)) await act()
      })(),
    )

  while (token === '') await tokens(auth[0] as Site)
  for (const site of auth) keepDoing(() => tokens(site))
  for (const site of api) {
    keepDoing(() => read(acts, site))
    keepDoing(() => read(acts, site))
    const path = `/v1/vendor/${company.vendorId}/oauth-clients?limit=20`
    keepDoing(() => ask({ operation: 'workspace', site, path, bearer: company.sessionToken }))
    keepDoing(createReporter(acts, site))
  }
  for (const site of outside.sites)
    keepDoing(() => ask({ operation: 'outside', site, ...outsideRead(company, token) }))
  for (let i = 0; i < LIVES_AT_ONCE; i += 1) keepDoing(createLife(acts, `life-${i}`))
  for (const site of [...world.sites, ...outside.sites])
    workers.push(revoked.keepTrying(site, random.named(`tries ${site.name}`), stopped))
  return {
    /** Returns the newest token of the client that nobody revokes. */
    token: () => token,
    /** Its tokens are refused from about now on, and that is no violation. */
    keyIsRevoked: (kid: string) => revokedKeys.add(kid),
    /** Resolves when every worker has finished what it was at. */
    async stop() {
      stopping = true
      await Promise.all(workers)
    },
  }
}

interface Acts extends TrafficOptions {
  token(): string
  /** Sends the request of one of good standing: 401 is a violation. */
  ask(call: Call): Promise<Answer>
  stopped(): boolean
}

/** The figures must hold every click that had been acknowledged before the request. */
async function read({ company, recorder, ledger, token, ask }: Acts, site: Site): Promise<void> {
  const acknowledged = ledger.eventsAcknowledged.size
  const { good, json } = await ask({ operation: 'read', site, ...dailyRead(company, token()) })
  if (good && json.totals.clicks < acknowledged)
    recorder.violation(
      `read at ${site.name}: ${json.totals.clicks} clicks, ${acknowledged} were acknowledged before`,
    )
}

/** Reports events at one process, and again anywhere until they are acknowledged; sometimes once more after that. */
function createReporter(acts: Acts, site: Site): () => Promise<void> {
  const { company, recorder, ledger, world, token, ask, stopped, pause_ms } = acts
  const { api } = world
  const random = acts.random.named(`events ${site.name}`)
  const path = `/v1/analytics/${company.vendorId}/events`
  let made = 0
  return async () => {
    const events = Array.from({ length: BATCH_EVENTS }, () => {
      const eventId = `${site.name}/${++made}`
      ledger.eventsSent.add(eventId)
      return { eventId, type: 'click', occurredAt: new Date().toISOString() }
    })
    const send = (to: Site) => ask({ operation: 'ingest', site: to, path, bearer: token(), json: { events } })
    const countedMust = (answer: Answer, allowed: number[]) => {
      const { accepted, duplicates } = answer.json
      if (!allowed.includes(accepted) || accepted + duplicates !== BATCH_EVENTS)
        recorder.violation(
          `ingest at ${answer.site.name}: ${JSON.stringify(answer.json)}, not ${allowed} accepted`,
        )
    }
    let answer = await send(site)
    if (answer.good) countedMust(answer, [BATCH_EVENTS])
    for (; !answer.good && !stopped(); answer = await send(random.pick(api))) await sleep(pause_ms)
    if (!answer.good) return
    countedMust(answer, [0, BATCH_EVENTS])
    for (const { eventId } of events) ledger.eventsAcknowledged.add(eventId)
    if (random.next() < 0.2) {
      const again = await send(random.pick(api))
      if (again.good) countedMust(again, [0])
    }
  }
}

/**
 * A client from its creation to its end: two tokens, of which it revokes the first; then the owner revokes the client.
 * Each step goes to a random process, and again to another until it is done.
 */
function createLife(acts: Acts, name: string): () => Promise<void> {
  const { world, company, ledger, revoked, ask, stopped, pause_ms } = acts
  const { auth, api } = world
  const random = acts.random.named(name)
  const path = `/v1/vendor/${company.vendorId}/oauth-clients`
  const bearer = company.sessionToken
  let lives = 0

  /** @returns the body of the good answer. */
  async function untilGood(sites: Site[], callAt: (site: Site) => Omit<Call, 'site'>) {
    for (; !stopped(); await sleep(pause_ms)) {
      const site = random.pick(sites)
      const { good, json } = await ask({ ...callAt(site), site })
      if (good) return json
    }
  }
  const tokenOf = async (client: ClientSecret): Promise<string | undefined> => {
    const request = tokenRequest(client, 'analytics:read')
    return (await untilGood(auth, () => ({ operation: 'token', ...request })))?.access_token
  }

  const revokeToken = ({ clientId, clientSecret }: ClientSecret, token: string) =>
    untilGood(auth, ({ name: answeredBy }) => ({
      operation: 'revoke',
      path: '/v1/oauth/revoke',
      form: { client_id: clientId, client_secret: clientSecret, token },
      atHead: (status) => {
        if (status === 200) revoked.add({ what: `token of ${clientId}`, answeredBy, token })
      },
    }))

  const revokeClient = (client: ClientSecret, token: string | undefined) =>
    untilGood(api, ({ name: answeredBy }) => ({
      operation: 'revoke',
      method: 'POST',
      path: `${path}/${client.clientId}/revoke`,
      bearer,
      atHead: (status) => {
        if (status !== 200) return
        ledger.clientsRevoked.add(client.clientId)
        if (token) revoked.add({ what: `client ${client.clientId}`, answeredBy, token, client })
      },
    }))

  return async () => {
    const key = `${name}/${++lives}`
    ledger.clients.set(key, undefined)
    const client: ClientSecret | undefined = await untilGood(api, () => ({
      operation: 'workspace',
      path,
      bearer,
      headers: { 'idempotency-key': key },
      json: { name: key, scopes: ['analytics:read'] },
    }))
    if (!client) return
    ledger.clients.set(key, client.clientId)
    // A repeat of a creation whose answer was lost has no secret.
    const [first, second] = client.clientSecret ? [await tokenOf(client), await tokenOf(client)] : []
    if (first) await revokeToken(client, first)
    await revokeClient(client, second)
  }
}
