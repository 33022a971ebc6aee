import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Page } from 'playwright-core'
import type { NewClientRecord } from '../../apps/api/clients/records.ts'
import { createClock } from '../../apps/workspace/src/api/time.ts'
import { afterwards } from '../support/block.ts'
import { createTestUsage } from '../support/client-usage.ts'
import { createTestClock } from '../support/clock.ts'
import { insertTestClient } from '../support/companies.ts'
import { connectedRedis } from '../support/redis.ts'
import { connectedDatabase } from '../support/stores.ts'
import { createTestCompany, testStack, vendorApi, visit } from '../support/workspace.ts'

const VENDOR = 'ven_histories'
const CLIENTS = `/${VENDOR}/integrations/oauth2-clients`
const HOUR = 60
const DAY = 24 * HOUR
const [SHOP, OTHER] = ['203.0.113.7', '198.51.100.9']

/** What the screens say, with % for the client's name and each time as how long ago it was: [2h]. */
interface Sentences {
  /** Its marks and times in the list, in alphabetical order. */
  row?: string
  page?: string
  rotation?: string
}

/** What happened to a client, in minutes ago. */
interface Past extends Partial<Pick<NewClientRecord, 'scopes' | 'authenticatesBy'>> {
  created: number
  expires?: number
  revoked?: number
  found?: number
  replaces?: string
  /** Times of tokens by address. */
  tokens?: Record<string, number[]>
  /** Times of refused requests by reason. All but revoked_client may have been sent by anyone. */
  refused?: Record<string, number[]>
  granted?: number[]
}

const many = (count: number, at: (index: number) => number): Record<string, number[]> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`192.0.2.${index}`, [at(index)]]))
const publicKey = { kty: 'EC' }
const workload = { issuer: 'https://ci.example', claims: { sub: 'deploy' }, platform: null }

const ROTATE = 'Rotate the secret / Keeps its secret: new one for %. Both work until the old one is revoked.'
const ALONE = `${ROTATE} / Client / % / Active`
const PAIR = `${ROTATE} / Old / % / Active`
const GONE = 'Rotation / This client is revoked'
const USED =
  'Active / [2h] / added [10d] / 1 token issued, no requests refused. / Tokens: / 203.0.113.7 1 [2h] [2h]'
const USED_SEEN = 'Last used on [2h]. / Tokens: / 203.0.113.7 [2h]'
const UNUSED = 'No tokens issued, no requests refused.'
const ONE = '1 token issued, no requests refused. / Tokens: / 203.0.113.7 1'
const REVOKED_SEEN = 'Client / % / Revoked / Last used on [3h]. / Tokens: / 203.0.113.7 [3h]'

const HISTORIES: Record<string, Sentences & { past: Past }> = {
  Fresh: {
    past: { created: HOUR },
    row: 'Never used',
    page: `Active / Never used / added [1h] / ${UNUSED}`,
    rotation: `${ALONE} / Never used.`,
  },
  Daily: {
    past: { created: 10 * DAY, tokens: { [SHOP]: [2 * HOUR] } },
    row: '[2h]',
    page: USED,
    rotation: `${ALONE} / ${USED_SEEN}`,
  },
  Quiet: {
    past: { created: 60 * DAY, tokens: { [SHOP]: [40 * DAY] } },
    row: '[40d]',
    page: `Active / [40d] / added [60d] / ${UNUSED}`,
    rotation: `${ALONE} / Last used on [40d]. / Tokens: / 203.0.113.7 [40d]`,
  },
  Wide: {
    past: { created: 60 * DAY, scopes: ['analytics:read', 'boost:read'], tokens: { [SHOP]: [2 * HOUR] } },
    row: '[2h]',
    page: `Active / [2h] / added [60d] / ${ONE} [2h] [2h]`,
    rotation: `${ALONE} / ${USED_SEEN}`,
  },
  Broken: {
    past: { created: 10 * DAY, tokens: { [SHOP]: [2 * HOUR] }, refused: { wrong_secret: [30] } },
    row: 'Failing since [30m]: wrong secret / [2h]',
    page: 'Nothing but refusals since [30m]: wrong secret, from 203.0.113.7 / It last got a token on [2h]. / What to change / What changed in the company then / Active / [2h] / added [10d] / 1 token issued, 1 request refused. / Tokens: / 203.0.113.7 1 [2h] [2h]',
  },
  Guessed: {
    past: { created: 10 * DAY, refused: { wrong_secret: [30] } },
    row: 'Failing since [30m]: wrong secret / Never used',
    page: 'Nothing but refusals since [30m]: wrong secret, from 203.0.113.7 / It has never had a token. Anyone who knows the client id can send such requests, so check whether the address is yours. / What to change / What changed in the company then / Active / Never used / added [10d] / No tokens issued, 1 request refused.',
  },
  Signer: {
    past: {
      created: 10 * DAY,
      authenticatesBy: { publicKey, keyThumbprint: 'k'.repeat(43) },
      tokens: { [SHOP]: [2 * HOUR] },
    },
    row: '[2h]',
    page: USED,
    rotation: `${ALONE.replaceAll('secret', 'key')} / ${USED_SEEN}`,
  },
  Runner: {
    past: { created: 10 * DAY, authenticatesBy: { workload } },
    row: 'Never used',
    page: `Active / Compare a token / Never used / added [10d] / ${UNUSED}`,
    rotation:
      'Replace the client / Keeps its workload: new one for %. The platform renews its tokens, so this is needed only for other scopes or before it expires. Both work until the old one is revoked. / Client / % / Active / Never used.',
  },
  Expiring: {
    past: { created: 10 * DAY, expires: -10 * DAY, tokens: { [SHOP]: [2 * HOUR] } },
    row: 'Expires [-10d] / [2h]',
    page: `This client expires [-10d] / From [-10d], its token requests are refused. The date cannot be changed: deploy a replacement before then. / Active / [-10d] / [2h] / added [10d] / ${ONE} [2h] [2h]`,
    rotation: `${ROTATE.slice(0, -1)} or expires. / This client expires [-10d] / From [-10d], its token requests are refused. The date cannot be changed: deploy a replacement before then. / Client / % / Active / ${USED_SEEN}`,
  },
  Outdated: {
    past: { created: 40 * DAY, expires: DAY, tokens: { [SHOP]: [2 * DAY] } },
    row: 'Expired [1d] / [2d]',
    page: `This client has expired / It expired on [1d] and can get no tokens. If a system still needs access, deploy a replacement. Then revoke this client. / Expired / [1d] / [2d] / added [40d] / ${ONE} [2d] [2d]`,
    rotation:
      'Rotate the secret / Keeps its secret: new one for %. / This client has expired / It expired on [1d] and can get no tokens. If a system still needs access, deploy a replacement. Then revoke this client. / Client / % / Expired / Last used on [2d]. / Tokens: / 203.0.113.7 [2d]',
  },
  Pair: {
    past: { created: 10 * DAY, tokens: { [SHOP]: [2 * HOUR] } },
    row: 'Being replaced / [2h] / by % 2',
    page: `This client is being replaced by % 2 / The replacement: Never used / Continue the rotation / ${USED}`,
    rotation: `${ROTATE} / Next: deploy the replacement / Put the new id and secret where your system has the old one. The first token of % 2 appears here within seconds. / Old / % / Active / Last used on [2h]. / Replacement / % 2 / Active / Never used. / Tokens: / 203.0.113.7 [2h] None / Revoke the old client`,
  },
  'Pair 2': {
    past: { created: HOUR, replaces: 'Pair' },
    row: 'Never used / Replacement / of Pair',
    page: `This client replaces Pair / Continue the rotation / Active / Never used / added [1h] / ${UNUSED}`,
    rotation: `${ALONE} / Never used.`,
  },
  Moved: {
    past: { created: 10 * DAY, tokens: { [SHOP]: [9 * DAY, 9 * DAY, 3 * DAY], [OTHER]: [8 * DAY] } },
    row: 'Being replaced / [3d] / by % 2',
    page: 'This client is being replaced by % 2 / The replacement: Last used [1h] / Continue the rotation / Active / [3d] / added [10d] / 4 tokens issued, no requests refused. / Tokens: / 203.0.113.7 3 [9d] [3d] / 198.51.100.9 1 [8d] [8d]',
    rotation: `${PAIR} / Last used on [3d]. Longest time between two uses since [10d]: 5 days. / Replacement / % 2 / Active / Last used on [1h]. First used on [2h]. / Tokens: / 203.0.113.7 [3d] [1h] / 198.51.100.9 [8d] None / Revoke the old client`,
  },
  'Moved 2': {
    past: { created: 3 * DAY, replaces: 'Moved', tokens: { [SHOP]: [2 * HOUR, HOUR] } },
    row: 'Replacement / [1h] / of Moved',
    page: 'This client replaces Moved / Continue the rotation / Active / [1h] / added [3d] / 2 tokens issued, no requests refused. / Tokens: / 203.0.113.7 2 [2h] [1h]',
  },
  Again: {
    past: { created: 10 * DAY, tokens: { [SHOP]: [2 * HOUR] } },
    row: '[2h]',
    page: USED,
    rotation: `${ROTATE} / The last replacement, % 2, was revoked. / Old / % / Active / Last used on [2h]. / Replacement / % 2 / Revoked / Never used. / Tokens: / 203.0.113.7 [2h] None`,
  },
  'Again 2': {
    past: { created: 3 * DAY, replaces: 'Again', revoked: DAY },
    row: 'Never used / Revoked [1d]',
    page: `This client is revoked / Revoked [1d] by Hana Vogt. / No requests on record since [1d]. / Revoked / Never used / added [3d] / ${UNUSED}`,
    rotation: `${GONE} / Revoked [1d] by Hana Vogt. / No requests on record since [1d]. / Client / % / Revoked / Never used.`,
  },
  Chain: {
    past: { created: 30 * DAY, revoked: 3 * DAY, tokens: { [SHOP]: [20 * DAY] } },
    row: 'Revoked [3d] / [20d]',
    page: `This client is revoked / Revoked [3d] by Hana Vogt. / No requests on record since [3d]. / Show the rotation / Revoked / [20d] / added [30d] / ${UNUSED}`,
    rotation: `${GONE} / Revoked [3d] by Hana Vogt. / No requests on record since [3d]. / Old / % / Revoked / Last used on [20d]. / Replacement / % 2 / Revoked / Last used on [9d]. First used on [9d]. / Tokens: / 203.0.113.7 [20d] [9d]`,
  },
  'Chain 2': {
    past: { created: 10 * DAY, replaces: 'Chain', revoked: DAY, tokens: { [SHOP]: [9 * DAY] } },
    row: 'Revoked [1d] / [9d]',
    page: `This client is revoked / Revoked [1d] by Hana Vogt. / No requests on record since [1d]. / Show the rotation / Revoked / [9d] / added [10d] / ${ONE} [9d] [9d]`,
    rotation: `${GONE} / Revoked [1d] by Hana Vogt. / No requests on record since [1d]. / Old / % / Revoked / Last used on [9d]. / Replacement / Chain 3 / Active / Last used on [2h]. First used on [2h]. / Tokens: / 203.0.113.7 [9d] [2h]`,
  },
  'Chain 3': {
    past: { created: 4 * DAY, replaces: 'Chain 2', tokens: { [SHOP]: [2 * HOUR] } },
    row: '[2h]',
    page: USED.replace('10d', '4d'),
  },
  Insists: {
    past: {
      created: 10 * DAY,
      revoked: 2 * HOUR,
      tokens: { [SHOP]: [3 * HOUR] },
      refused: { revoked_client: [40, 30] },
    },
    row: 'Revoked [2h] / Still asks / [3h]',
    page: 'This client is revoked, and still asks / Revoked [2h] by Hana Vogt. / 2 requests on record since [2h], none accepted, the last from 203.0.113.7. / Revoked / [3h] / added [10d] / 1 token issued, 2 requests refused. / Tokens: / 203.0.113.7 1 [3h] [3h]',
    rotation: `${GONE}, and still asks / Revoked [2h] by Hana Vogt. / 2 requests on record since [2h], none accepted, the last from 203.0.113.7. / ${REVOKED_SEEN}`,
  },
  Slipped: {
    past: { created: 10 * DAY, revoked: 2 * HOUR, tokens: { [SHOP]: [3 * HOUR] }, granted: [119, 118] },
    row: 'Revoked [2h] / [3h]',
    page: `This client is revoked / Revoked [2h] by Hana Vogt. / 2 requests on record since [2h], 2 accepted, the last from 203.0.113.7. The last was accepted [118m]. / Revoked / [3h] / added [10d] / ${ONE} [3h] [3h]`,
    rotation: `${GONE} / Revoked [2h] by Hana Vogt. / 2 requests on record since [2h], 2 accepted, the last from 203.0.113.7. The last was accepted [118m]. / ${REVOKED_SEEN}`,
  },
  Forgotten: {
    past: { created: 60 * DAY, revoked: 30 * DAY, tokens: { [SHOP]: [31 * DAY] } },
    row: 'Revoked [30d] / [31d]',
    page: `This client is revoked / Revoked [30d] by Hana Vogt. / No requests on record since [14d]. Older ones may no longer be on record. / Revoked / [31d] / added [60d] / ${UNUSED}`,
    rotation: `${GONE} / Revoked [30d] by Hana Vogt. / No requests on record since [14d]. Older ones may no longer be on record. / Client / % / Revoked / Last used on [31d]. / Tokens: / 203.0.113.7 [31d]`,
  },
  'Leaked and safe': {
    past: { created: 10 * DAY, found: HOUR, tokens: { [SHOP]: [4 * HOUR] } },
    row: 'Secret found / [4h]',
    page: `Reported [1h]. Not used since. / Active / [4h] / added [10d] / ${ONE} [4h] [4h]`,
  },
  'Leaked at home': {
    past: { created: 10 * DAY, found: HOUR, tokens: { [SHOP]: [4 * HOUR, 10] } },
    row: 'Secret found / [10m]',
    page: 'Reported [1h]. Used since from 203.0.113.7 (first seen 3 hours before the report). / Active / [10m] / added [10d] / 2 tokens issued, no requests refused. / Tokens: / 203.0.113.7 2 [4h] [10m]',
  },
  'Leaked to a thief': {
    past: { created: 10 * DAY, found: HOUR, tokens: { [SHOP]: [4 * HOUR, 10], [OTHER]: [30] } },
    row: 'Secret found / [10m]',
    page: 'Reported [1h]. Used since from 198.51.100.9 (first seen 30 minutes after the report) and 203.0.113.7 (first seen 3 hours before the report). / Active / [10m] / added [10d] / 3 tokens issued, no requests refused. / Tokens: / 203.0.113.7 2 [4h] [10m] / 198.51.100.9 1 [30m] [30m]',
  },
  'Leaked long ago': {
    past: { created: 60 * DAY, found: 30 * DAY, tokens: { [SHOP]: [20 * DAY] } },
    row: 'Secret found / [20d]',
    page: `Reported [30d]. Used since, the last time [20d]. From where is not known. / Active / [20d] / added [60d] / ${UNUSED}`,
  },
  'Leaked to many': {
    past: { created: 10 * DAY, found: HOUR, tokens: many(25, (index) => 10 + index) },
    row: 'Secret found / [10m]',
    page: 'Reported [1h]. Used since from 192.0.2.0 (first seen 50 minutes after the report), 192.0.2.1 (first seen 49 minutes after the report), 192.0.2.2 (first seen 48 minutes after the report) and 17 more. Up to [30m], other addresses may have used it too. / Active / [10m] / added [10d] / 25 tokens issued, no requests refused. / Tokens: Up to [30m], others may have got tokens too. / many',
    rotation: `${ALONE} / Last used on [10m]. Longest time between two uses since [10d]: 1 minute. / Tokens: / many`,
  },
  'Leaked on a full day': {
    past: { created: 10 * DAY, found: 5 * DAY, tokens: { ...many(200, () => 3 * DAY), [SHOP]: [HOUR] } },
    row: 'Secret found / [1h]',
    page: 'Reported [5d]. Used since from 203.0.113.7 (first seen 4 days after the report), 192.0.2.0 (first seen 2 days after the report), 192.0.2.1 (first seen 2 days after the report) and 17 more. Up to [midnight 2], other addresses may have used it too. / Active / [1h] / added [10d] / 201 tokens issued, no requests refused. / Tokens: Up to [midnight 2], others may have got tokens too. / 203.0.113.7 1 [1h] [1h] / many',
  },
  'Leaked and old': {
    past: { created: 200 * DAY, found: HOUR, tokens: { [SHOP]: [150 * DAY, 10] } },
    row: 'Secret found / [10m]',
    page: `Reported [1h]. Used since from 203.0.113.7 (first seen 50 minutes after the report, looking back 100 days). / Active / [10m] / added [200d] / ${ONE} [10m] [10m]`,
    rotation: `${ALONE} / Last used on [10m]. Longest time between two uses since [200d]: 150 days. / Tokens: / 203.0.113.7 [10m]`,
  },
}

/** What is said of the same clients while uses up to five minutes ago may be missing. */
const MISSING: Record<string, Sentences> = {
  Fresh: {
    page: `Active / No known use Uses up to [5m] may be missing. / added [1h] / ${UNUSED}`,
    rotation: `${ALONE} / No known use. Uses since [1h] may be missing.`,
  },
  Daily: {
    page: USED.replace('[2h]', '[2h] Uses up to [5m] may be missing.'),
    rotation: `${ALONE} / ${USED_SEEN.replace('.', '. Uses since [2h] may be missing.')}`,
  },
  Pair: {
    page: `This client is being replaced by % 2 / The replacement: No known use / Continue the rotation / ${USED.replace('[2h]', '[2h] Uses up to [5m] may be missing.')}`,
    rotation: `${ROTATE} / Next: deploy the replacement / Put the new id and secret where your system has the old one. The first token of % 2 appears here within seconds. / Old / % / Active / Last used on [2h]. Uses since [2h] may be missing. / Replacement / % 2 / Active / No known use. Uses up to [5m] may be missing. / Tokens: / 203.0.113.7 [2h] None / Revoke the old client`,
  },
  'Leaked and safe': {
    page: `Reported [1h]. No use since is known. Uses up to [5m] may be missing. / Active / [4h] Uses up to [5m] may be missing. / added [10d] / ${ONE} [4h] [4h]`,
  },
}

/** What else a row says. */
const NEITHER_MARK_NOR_TIME = /^(?:Active|Never|\d+|\w+:read(?:, \w+:read)*)$/

/** The screen, without the warnings above it. */
const SCREEN = 'main > :has(> header)'

/** What is compared elsewhere, or is the same of each client. */
const HIDDEN = `figure, thead, search, dt, h1:has(bdi), header > div > :first-child:not(h1), header button,
  header p a, dd > a, dd ul, dd dl, code:has(+ span button), section > p > button, #usage-title, #seen-title,
  [aria-labelledby=use-title], [aria-labelledby=requests-title], td:has(button)`
  .split(/,\s+/)
  .map((part) => `main ${part}`)
  .join()

/** Longer sentences, and how they are written above. */
const SHORT: [RegExp | string, string][] = [
  ['This client’s secret was found / ', ''],
  [/ \/ Revoke it: .*? If a secret has leaked/, ''],
  [/ \/ \(documentation, new tab\)/g, ''],
  [/shown once, when the client was created \/ /, ''],
  [/\[([^\]]+)\] \(\[\1\]\)/g, '[$1]'],
  [/(\[\w+\]) by Hana Vogt(?!\.)/, 'added $1'],
  [
    /A client keeps its (\w+) for life, so a new one, with its own id, takes the place of (.*?)\./,
    'Keeps its $1: new one for $2.',
  ],
  ['The latest addresses that got tokens since [midnight 13], counting at most 200 a day (UTC).', 'Tokens:'],
  [
    'The latest addresses that got tokens in 100 days, counting at most 200 a day (UTC), and when each last got one.',
    'Tokens:',
  ],
  [/(?:192\.0\.2\.\d+ (?:1 )?\[\w+\](?: \[\w+\])?(?: \/ |$))+/, 'many'],
]

describe('workspace: every sentence about a client', () => {
  const start_ms = Date.now()
  const ago = (minutes: number) => new Date(start_ms - minutes * 60_000)
  const ids = new Map<string, string>()
  let db: ReturnType<typeof connectedDatabase>
  let sessionToken: string

  before(async () => {
    const { stores } = await testStack()
    db = connectedDatabase(stores.postgres.ownerUrl)
    using redis = await connectedRedis(stores.redis.ownerUrl)
    const company = await createTestCompany(VENDOR, 'Histories', 'Hana Vogt')
    sessionToken = company.token
    const createdBy = (await vendorApi('/people', company)).people[0].userId
    const clock = createTestClock()
    const usage = createTestUsage(redis, db, clock)
    const events: { at: number; record: () => void }[] = []
    for (const [name, { past }] of Object.entries(HISTORIES)) {
      const { created, expires, replaces, revoked, tokens = {}, refused = {}, granted = [], ...others } = past
      const { clientId } = await insertTestClient(db, {
        vendorId: VENDOR,
        name,
        createdAt: ago(created),
        createdBy,
        expiresAt: expires === undefined ? undefined : ago(expires),
        replaces: replaces === undefined ? undefined : ids.get(replaces),
        ...others,
      })
      ids.set(name, clientId)
      if (revoked !== undefined)
        await changePast(clientId, { status: 'Revoked', revoked_at: ago(revoked), revoked_by: createdBy })
      const request = { clientId, vendorId: VENDOR, route: 'POST /v1/oauth/token', address: SHOP }
      for (const [address, times] of Object.entries(tokens))
        for (const at of times)
          events.push({ at, record: () => usage.countToken(clientId, 'analytics:read', address) })
      for (const [reason, times] of Object.entries(refused))
        for (const at of times) {
          const refusal = { requestId: `${clientId}-${at}`, status: 401, code: 'invalid_client', reason }
          const proven = reason === 'revoked_client'
          events.push({ at, record: () => usage.recordRequest({ ...request, ...refusal, proven }) })
        }
      for (const at of granted) {
        const answer = { requestId: `${clientId}-${at}`, status: 200, proven: true }
        events.push({ at, record: () => usage.recordRequest({ ...request, ...answer }) })
      }
    }
    const times = [...new Set(events.map(({ at }) => at))].sort((a, b) => b - a)
    for (const time of times) {
      clock.set(ago(time).getTime())
      for (const { record } of events.filter(({ at }) => at === time)) record()
      await usage.flush()
    }
    await usage.stop()
    // As the service forgets them.
    await db('client_address_usage')
      .where('day', '<', ago(101 * DAY))
      .delete()
  })
  after(() => db?.destroy())

  /** Changes what no service may change: the past. */
  async function changePast(clientId: string, change: object): Promise<void> {
    await db.transaction(async (transaction) => {
      await transaction.raw('set local session_replication_role = replica')
      await transaction('oauth_clients').where({ client_id: clientId }).update(change)
    })
  }

  /** Marks the secrets of these clients as found, until the end of the block. */
  async function found(...names: string[]): Promise<AsyncDisposable> {
    const leaked = names.filter((name) => HISTORIES[name]?.past.found !== undefined)
    const mark = async (at: (minutes: number) => Date | null) => {
      for (const name of leaked)
        await changePast(ids.get(name) as string, { secret_found_at: at(HISTORIES[name]?.past.found ?? 0) })
    }
    await mark(ago)
    return { [Symbol.asyncDispose]: () => mark(() => null) }
  }

  /** Returns what each such part of a page says. */
  async function read(page: Page, root: string): Promise<string[]> {
    const texts = await page.evaluate(
      ({ root, hidden, start_ms }) => {
        for (const time of document.querySelectorAll('time')) {
          const ago_ms = start_ms - Date.parse(time.dateTime)
          const midnights = (start_ms - (start_ms % 86_400_000) - Date.parse(time.dateTime)) / 86_400_000
          // What begins so many days ago moves on while the test runs.
          const unit_ms = ago_ms > 10 * 86_400_000 ? 3_600_000 : 60_000
          const minutes = (Math.round(ago_ms / unit_ms) * unit_ms) / 60_000
          const [length, unit] = [
            [1_440, 'd'],
            [60, 'h'],
            [1, 'm'],
          ].find(([length]) => minutes % Number(length) === 0) ?? [1, 'm']
          const text = Number.isInteger(midnights)
            ? `midnight ${midnights}`
            : `${minutes / Number(length)}${unit}`
          time.textContent = `[${text}]`
        }
        for (const part of document.querySelectorAll<HTMLElement>(hidden)) part.style.display = 'none'
        return [...document.querySelectorAll<HTMLElement>(root)].map(({ innerText }) => innerText)
      },
      { root, hidden: HIDDEN, start_ms },
    )
    return texts.map((text) => {
      const lines = text.split('\n').map((line) => line.trim().replaceAll('\t', ' '))
      return SHORT.reduce((all, [long, short]) => all.replace(long, short), lines.filter(Boolean).join(' / '))
    })
  }

  /** Waits until all says what it should, or for so long that it will not. Returns what it says then. */
  async function untilSaid<T>(say: () => Promise<T>, expected: T): Promise<T> {
    for (let tries = 0; tries < 150; tries += 1) {
      const said = await say()
      if (isDeepStrictEqual(said, expected)) return said
      await sleep(100)
    }
    return say()
  }

  /** Returns which of its sentences differ from what is expected. */
  async function differences(page: Page, name: string, expected: Sentences): Promise<string[]> {
    const differing: string[] = []
    for (const screen of ['page', 'rotation'] as const) {
      if (expected[screen] === undefined) continue
      const path = `${CLIENTS}/${ids.get(name)}${screen === 'rotation' ? '/rotate' : ''}`
      await page.evaluate((to) => window.history.pushState(null, '', to), path)
      const say = async () => (await read(page, SCREEN)).join(' / ').replaceAll(name, '%')
      const said = await untilSaid(say, expected[screen])
      if (said !== expected[screen])
        differing.push(`${name}, ${screen}: ${said}`, `expected: ${expected[screen]}`)
    }
    return differing
  }

  it('says what is true on the page of each client, and in its rotation', async () => {
    const { page } = await visit({ sessionToken, path: CLIENTS })
    const differing: string[] = []
    for (const [name, history] of Object.entries(HISTORIES)) {
      await using _ = await found(name)
      if (history.past.found !== undefined) await page.reload()
      differing.push(...(await differences(page, name, history)))
      // Each takes a while.
      if (differing.length > 6) break
    }
    assert.deepEqual(differing, [])
  })

  it('says what is true in the list, and of what needs a person', async () => {
    await using _ = await found(...Object.keys(HISTORIES))
    const { page } = await visit({ sessionToken, path: `${CLIENTS}?show=all`, width: 390 })
    const rows = Object.entries(HISTORIES).map(([name, { row = '' }]) => {
      const marks = row.replaceAll('%', name).split(' / ')
      return [name, ...marks.map((mark) => mark.replace(/^\[/, 'Used [')).sort()].join(' / ')
    })
    assert.deepEqual(await untilSaid(() => readRows(page), rows.sort()), rows)
    const attention = (await read(page, '[aria-label="Needs attention"]')).join()
    assert.deepEqual(attention.match(/\d+ (?:revoked )?clients? [\w ]+\w(?: \/ : \w+)?/g), [
      '2 clients fail',
      '1 revoked client still asks / : Insists',
      '1 client expires within 30 days / : Expiring',
      '1 client was not used for 30 days / : Quiet',
    ])
  })

  async function readRows(page: Page): Promise<string[]> {
    await read(page, 'main')
    const rows = await page
      .locator('tbody tr')
      .evaluateAll((all) => all.map((row) => (row as HTMLElement).innerText.split(/[\n\t]+/)))
    return rows
      .map((parts) => {
        const facts = parts
          .map((part) => part.trim())
          .filter((part) => part && !NEITHER_MARK_NOR_TIME.test(part))
        const [name = '', ...marks] = facts
        return [name, ...marks.sort()].join(' / ')
      })
      .sort()
  }

  it('says of no use that it never was while some may be missing', async () => {
    const writer = randomUUID()
    await using _ = afterwards(() => db('usage_writers').where({ writer }).delete())
    await db('usage_writers').insert({ writer, batch: 1, flushed_at: ago(-HOUR), lost_at: ago(5) })
    const { page } = await visit({ sessionToken, path: CLIENTS })
    const differing: string[] = []
    for (const [name, sentences] of Object.entries(MISSING)) {
      await using _found = await found(name)
      await page.reload()
      differing.push(...(await differences(page, name, sentences)))
    }
    assert.deepEqual(differing, [])
  })

  it('draws the use of both clients of a rotation, and dates it on the company’s clock', async () => {
    const { page } = await visit({ sessionToken, path: `${CLIENTS}/${ids.get('Moved')}/rotate` })
    await page.getByRole('img', { name: /4 tokens issued, no requests refused\.$/ }).waitFor()
    const replacement = page.getByRole('img', { name: /2 tokens issued, no requests refused\.$/ })
    const bars = (await replacement.locator('.usage-tokens').getAttribute('d')) ?? ''
    // Half as high as the two tokens of the old client in one hour.
    assert.match(bars, /^(?:M\d+,100\.0h0\.8v-46h-0\.8z){2}$/)
    await page.getByText(`Last used on ${createClock('UTC').weekdayTime(ago(HOUR))} (1 hour ago).`).waitFor()
  })

  it('says when a client expires, or that it has expired', async () => {
    for (const [name, fact] of Object.entries({ Expiring: 'Expires', Outdated: 'Expired' })) {
      const { page } = await visit({ sessionToken, path: `${CLIENTS}/${ids.get(name)}` })
      const facts = page.getByRole('term')
      await facts.getByText('Client id').waitFor()
      assert.deepEqual(
        (await facts.allInnerTexts()).filter((text) => /Expire/.test(text)),
        [fact],
      )
    }
  })

  it('promises no work of an expired client, and lists expiries in place of ages where they matter', async () => {
    const path = `${CLIENTS}/${ids.get('Outdated')}/rotate`
    const { page, baseUrl } = await visit({ sessionToken, path, width: 1680 })
    await page.getByRole('button', { name: 'Create replacement' }).click()
    await page.getByRole('dialog').getByText('It gets a new id.', { exact: true }).waitFor()
    await page.goto(baseUrl + CLIENTS)
    await page.getByRole('columnheader', { name: 'Added' }).waitFor()
    await page.getByRole('button', { name: /^1 client expires/ }).click()
    await page.getByRole('heading', { name: 'Expiring', level: 1 }).waitFor()
    await page.goto(`${baseUrl}${CLIENTS}?show=expiring`)
    const header = page.getByRole('columnheader', { name: 'Expires' })
    await header.getByRole('button').click()
    assert.equal(await header.getAttribute('aria-sort'), 'ascending')
    await page.getByRole('row', { name: /^Expiring/ }).waitFor()
    assert.equal(await page.getByRole('row').count(), 2)
    const replacement = ids.get('Pair 2') as string
    await using _ = afterwards(() => changePast(replacement, { expires_at: null }))
    await changePast(replacement, { expires_at: ago(1) })
    await page.goto(`${baseUrl}${CLIENTS}/${ids.get('Pair')}`)
    await page.getByRole('button', { name: 'Revoke', exact: true }).click()
    await page.getByText('You would have to create a new one.').waitFor()
  })

  it('shows no two buttons with the same words for different clients', async () => {
    await using _ = await found('Leaked at home', 'Leaked and safe', 'Leaked and old')
    const { page } = await visit({ sessionToken, path: `${CLIENTS}/${ids.get('Pair')}/rotate` })
    await page.getByRole('button', { name: 'Revoke Pair', exact: true }).waitFor()
    await page.getByRole('alert').waitFor()
    const words = await page.locator('main button:visible').allInnerTexts()
    assert.ok(words.includes('Revoke Pair'), words.join())
    assert.deepEqual(words, [...new Set(words)])
  })
})
