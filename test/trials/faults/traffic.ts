import { setTimeout as sleep } from 'node:timers/promises'
import type { Ledger } from './ledger.ts'
import type { Random } from './random.ts'
import type { Answer, Call, Recorder } from './recorder.ts'
import {
  clientCreation,
  clientList,
  clientRevocation,
  dailyRead,
  eventReport,
  outsideRead,
  tokenRequest,
  tokenRevocation,
} from './requests.ts'
import { keyOf, type RevokedThings } from './revoked.ts'
import type { Site } from './site.ts'
import type { ClientSecret, Company } from './world.ts'

const LIVES_AT_ONCE = 8
const BATCH_EVENTS = 3
const SCOPES = 'analytics:read analytics:write'

export interface TrafficOptions {
  auth: Site[]
  api: Site[]
  outside: Site[]
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
  const { auth, api, outside, company, recorder, revoked, random } = options
  const revokedKeys = new Set<string>()
  let stopping = false
  let token = ''
  const stopped = () => stopping

  /** One of good standing was told that it is not. */
  function mustNotBe401({ status, operation, site, json }: Answer, used?: string): void {
    if (status !== 401 || (used !== undefined && revokedKeys.has(keyOf(used)))) return
    recorder.violation(`${operation} at ${site.name}: 401 to what nobody revoked: ${JSON.stringify(json)}`)
  }

  async function tokens(site: Site): Promise<void> {
    const answer = await recorder.call({ operation: 'token', site, ...tokenRequest(company.client, SCOPES) })
    mustNotBe401(answer)
    if (answer.good) token = answer.json.access_token
  }

  const acts: Acts = { ...options, token: () => token, mustNotBe401, stopped }
  const workers: Promise<void>[] = []
  const keepDoing = (act: () => Promise<void>) =>
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
    keepDoing(() => list(acts, site))
    keepDoing(createReporter(acts, site))
  }
  for (const site of outside)
    keepDoing(async () => {
      const used = token
      mustNotBe401(await recorder.call({ operation: 'outside', site, ...outsideRead(company, used) }), used)
    })
  for (let i = 0; i < LIVES_AT_ONCE; i += 1) keepDoing(createLife(acts, `life-${i}`))
  for (const site of [...auth, ...api, ...outside])
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
  mustNotBe401(answer: Answer, used?: string): void
  stopped(): boolean
}

/** The figures must hold every click that had been acknowledged before the request. */
async function read({ company, recorder, ledger, token, mustNotBe401 }: Acts, site: Site): Promise<void> {
  const [used, acknowledged] = [token(), ledger.eventsAcknowledged.size]
  const answer = await recorder.call({ operation: 'read', site, ...dailyRead(company, used) })
  mustNotBe401(answer, used)
  if (answer.good && answer.json.totals.clicks < acknowledged)
    recorder.violation(
      `read at ${site.name}: ${answer.json.totals.clicks} clicks, ${acknowledged} were acknowledged before`,
    )
}

async function list({ company, recorder, mustNotBe401 }: Acts, site: Site): Promise<void> {
  mustNotBe401(await recorder.call({ operation: 'workspace', site, ...clientList(company) }))
}

/** Reports events at one process, and again anywhere until they are acknowledged; sometimes once more after that. */
function createReporter(acts: Acts, site: Site): () => Promise<void> {
  const { company, recorder, ledger, api, token, mustNotBe401, stopped, pause_ms } = acts
  const random = acts.random.named(`events ${site.name}`)
  let made = 0
  return async () => {
    const events = Array.from({ length: BATCH_EVENTS }, () => {
      const eventId = `${site.name}/${++made}`
      ledger.eventsSent.add(eventId)
      return { eventId, type: 'click', occurredAt: new Date().toISOString() }
    })
    const send = async (to: Site) => {
      const used = token()
      const answer = await recorder.call({
        operation: 'ingest',
        site: to,
        ...eventReport(company, used, events),
      })
      mustNotBe401(answer, used)
      return answer
    }
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
  const { auth, api, company, recorder, ledger, revoked, mustNotBe401, stopped, pause_ms } = acts
  const random = acts.random.named(name)
  let lives = 0

  async function untilGood(
    sites: Site[],
    call: (site: Site) => Omit<Call, 'site'>,
  ): Promise<Answer | undefined> {
    for (; !stopped(); await sleep(pause_ms)) {
      const site = random.pick(sites)
      const answer = await recorder.call({ ...call(site), site })
      mustNotBe401(answer)
      if (answer.good) return answer
    }
    return undefined
  }
  const tokenOf = async (client: ClientSecret): Promise<string | undefined> =>
    (await untilGood(auth, () => ({ operation: 'token', ...tokenRequest(client, 'analytics:read') })))?.json
      .access_token

  async function revokeToken(client: ClientSecret, token: string): Promise<void> {
    await untilGood(auth, ({ name: answeredBy }) => ({
      operation: 'revoke',
      ...tokenRevocation(client, token),
      atHead: (status) => {
        if (status === 200) revoked.add({ what: `token of ${client.clientId}`, answeredBy, token })
      },
    }))
  }

  async function revokeClient(client: ClientSecret, token: string | undefined): Promise<void> {
    await untilGood(api, ({ name: answeredBy }) => ({
      operation: 'revoke',
      ...clientRevocation(company, client.clientId),
      atHead: (status) => {
        if (status !== 200) return
        ledger.clientsRevoked.add(client.clientId)
        if (token) revoked.add({ what: `client ${client.clientId}`, answeredBy, token, client })
      },
    }))
  }

  return async () => {
    const key = `${name}/${++lives}`
    ledger.clients.set(key, undefined)
    const created = await untilGood(api, () => ({ operation: 'workspace', ...clientCreation(company, key) }))
    if (!created) return
    const client: ClientSecret = created.json
    ledger.clients.set(key, client.clientId)
    // A repeat of a creation whose answer was lost has no secret.
    const [first, second] = client.clientSecret ? [await tokenOf(client), await tokenOf(client)] : []
    if (first) await revokeToken(client, first)
    await revokeClient(client, second)
  }
}
