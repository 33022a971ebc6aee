import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { hashSecret } from '#shared/oauth/ids.ts'
import { createMetrics } from '#shared/process/metrics.ts'
import { hasSecretChecksum, newClientSecret } from '../../apps/api/accounts/new-ids.ts'
import { listFoundClients } from '../../apps/api/clients/records.ts'
import { createFoundSecretReports } from '../../apps/api/found-secrets/reports.ts'
import { sanitizeSource } from '../../apps/api/found-secrets/source.ts'
import { freshOwner, sharedApi, startApi } from '../support/api.ts'
import { startAuth } from '../support/auth.ts'
import { afterwards } from '../support/block.ts'
import { passing, stoppedTime } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { createTestLog, loggedEvents } from '../support/log.ts'
import { assertStatuses } from '../support/problem.ts'
import { cutOffDatabase, SILENT_DATABASE, untilBlocked } from '../support/stores.ts'

const PATH = '/v1/found-secrets'
/** Differs from one answer to the next by nature. */
const OF_ITS_OWN = ['date', 'x-request-id', 'ratelimit', 'connection', 'keep-alive']

const FREELY = { RATE_FOUND_SECRETS_PER_ADDRESS: '100000/60' }

describe('POST /v1/found-secrets', () => {
  const api = sharedApi({ env: FREELY })
  const owner = freshOwner(api)
  beforeEach(() => {
    api.logLines.length = 0
  })

  const marker = freshOwner(api)

  const send = (body: unknown, at = api) => at.request('POST', PATH, { body })
  /** Sends a report, and waits until it has been looked up: reports of one address are looked up in order. */
  async function report(body: unknown) {
    const response = await send(body)
    const { clientId, secret } = await marker.createClient()
    await send({ secrets: [secret] })
    await untilMarked(marker, clientId)
    // With FOUND_SECRETS=revoke, those found first are revoked first.
    await revokeInDatabase(clientId)
    return response
  }
  const revokeInDatabase = (clientId: string) =>
    api.db('oauth_clients').where({ client_id: clientId }).update({ status: 'Revoked' })
  const untilMarked = (person: typeof owner, clientId: string) =>
    eventually(async () => (await read(clientId, person)).secretFoundAt !== null)
  const read = async (clientId: string, person = owner) =>
    (await person.request('GET', `oauth-clients/${clientId}`)).json
  const entries = (company = owner.vendorId) => api.db('activity').where({ vendor_id: company })
  const events = () => loggedEvents(api, 'secret.found').filter(({ vendorId }) => vendorId === owner.vendorId)

  it('marks a secret sent a hundred times once, and keeps the time and source of its first report', async () => {
    const { clientId, secret } = await owner.createClient()
    await report(Array(100).fill({ token: secret, url: 'https://first.example/' }))
    const first = await read(clientId)
    const again = [{ token: secret, url: 'https://second.example/' }]
    assertStatuses(await Promise.all([1, 2, 3].map(() => report(again))), 202, 202, 202)
    assert.deepEqual(await read(clientId), first)
    assert.equal(first.secretFoundSource, 'first.example/')
    assert.deepEqual([(await entries()).length, events().length], [1, 1])
  })

  it('marks a secret once if it is reported at the same moment, in any order', async () => {
    const clients = await Promise.all([1, 2, 3, 4].map(() => owner.createClient()))
    const secrets = clients.map(({ secret }) => secret)
    const answers = await Promise.all(
      [secrets, secrets.toReversed(), secrets, secrets.toReversed()].map((each) => report({ secrets: each })),
    )
    assertStatuses(answers, 202, 202, 202, 202)
    assert.equal((await entries()).length, 4)
  })

  it('marks the clients of several companies, and shows each only its own', async () => {
    const stranger = await api.createOwner()
    const mine = await owner.createClient()
    await owner.createClient()
    const theirs = await stranger.createClient()
    await report({ secrets: [mine.secret, theirs.secret] })
    assert.equal((await entries()).length, 1)
    assert.equal((await entries(stranger.vendorId)).length, 1)
    const { clients } = (await owner.request('GET', 'oauth-clients?secretFound=true')).json
    assert.deepEqual([clients.length, clients[0].clientId], [1, mine.clientId])
    const { secretFoundAt, secretFoundSource } = await read(theirs.clientId, stranger)
    assert.deepEqual([typeof secretFoundAt, secretFoundSource], ['string', null])
  })

  it('leaves a Revoked client and one that has a key as they are', async () => {
    const dead = await owner.createClient()
    await revokeInDatabase(dead.clientId)
    const publicKey = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
    const keyed = await owner.createClient({ authenticatesBy: { publicKey, keyThumbprint: 'x'.repeat(43) } })
    await report({ secrets: [dead.secret, keyed.secret] })
    for (const { clientId } of [dead, keyed]) assert.equal((await read(clientId)).secretFoundAt, null)
    assert.equal((await entries()).length, 0)
  })

  it('answers with the same bytes before it looks anything up, whatever the secret is', async () => {
    const [real, known] = [await owner.createClient(), await owner.createClient()]
    const dead = await owner.createClient()
    await report({ secrets: [known.secret] })
    await revokeInDatabase(dead.clientId)
    await using lock = await lockClient(real.clientId)
    const answers = []
    for (const secret of [real.secret, known.secret, dead.secret, newClientSecret(), 'noise', '']) {
      const { status, headers, text } = await send({ secrets: [secret] })
      answers.push([status, text, ...[...headers].filter(([name]) => !OF_ITS_OWN.includes(name))])
    }
    await untilBlocked(api.db)
    assert.equal((await read(real.clientId)).secretFoundAt, null)
    for (const answer of answers) assert.deepEqual(answer, answers[0])
    assert.deepEqual(answers[0]?.slice(0, 2), [202, ''])
    await lock.release()
    await untilMarked(owner, real.clientId)
  })

  async function lockClient(clientId: string) {
    const lock = await api.db.transaction()
    await lock.raw('select 1 from oauth_clients where client_id = ? for update', [clientId])
    return {
      release: () => lock.commit(),
      /** An open transaction would keep the block from ending after a failure. */
      [Symbol.asyncDispose]: async () => void (lock.isCompleted() || (await lock.rollback())),
    }
  }

  it('drops a report of the address that sent most when too many wait, and counts and logs it', async () => {
    const { log, lines } = createTestLog()
    const metrics = createMetrics({ service: 'api' })
    const reports = createFoundSecretReports({ db: api.apiDb, metrics, willBeRevoked: false })
    const from = (clientAddress: string, secret: string) =>
      reports.add({ secrets: [{ secretHash: hashSecret(secret), source: null }], clientAddress, log })
    const [locked, waiting] = [await owner.createClient(), await owner.createClient()]
    await using lock = await lockClient(locked.clientId)
    from('2001:db8:7::1', locked.secret)
    for (let i = 0; i < 102; i += 1) from(`2001:db8:7:${i % 100}00::1`, newClientSecret())
    from('192.0.2.2', waiting.secret)
    await untilBlocked(api.db)
    const lost = { event: 'secret_report.lost', reason: 'busy', secrets: 1 }
    assert.partialDeepStrictEqual(lines, Array(3).fill({ level: 40, ...lost }))
    assert.equal(lines.length, 3)
    assert.match(await metrics.registry.metrics(), /secret_reports_lost_total\{reason="busy"\} 3\n/)
    await lock.release()
    await reports.stop()
    for (const { clientId } of [locked, waiting]) assert.notEqual((await read(clientId)).secretFoundAt, null)
  })

  describe('while the database does not answer', () => {
    const { log, lines } = createTestLog()
    const report = { secrets: [{ secretHash: Buffer.alloc(32), source: null }], clientAddress: 'a', log }
    const create = (db: unknown) => {
      const metrics = createMetrics({ service: 'api' })
      return createFoundSecretReports({ db: db as never, metrics, willBeRevoked: false })
    }
    const reasons = () => lines.splice(0).map(({ reason }) => reason)

    it('keeps a report that waits for its turn for five minutes, and gives it up five seconds after a stop', async () => {
      const reports = create(SILENT_DATABASE)
      passing(299_999, () => {
        for (const _ of [1, 2]) reports.add(report)
      })
      void passing(4_999, reports.stop)
      await nextTurn()
      assert.deepEqual(reasons(), [])
      await passing(5_000, reports.stop)
      await nextTurn()
      assert.deepEqual(reasons(), ['stopped'])
    })

    it('gives a report up after five minutes', async () => {
      using time = stoppedTime()
      const transaction = async () => {
        time.advance(300_001)
        throw Object.assign(new Error('gone'), { code: 'ECONNREFUSED' })
      }
      const reports = create({ transaction })
      reports.add(report)
      await nextTurn()
      await reports.stop()
      assert.deepEqual(reasons(), ['failed'])
    })

    it('keeps two hundred reports, also those that do not wait for their turn', async () => {
      const gone = Object.assign(new Error('gone'), { code: 'ECONNREFUSED' })
      const reports = create({ transaction: () => Promise.reject(gone) })
      for (const _ of Array(201)) await nextTurn(reports.add(report))
      assert.deepEqual(reasons(), ['busy'])
      await reports.stop()
      assert.equal(reasons().length, 200)
    })
  })

  it('looks up all that it has answered before it stops', async () => {
    const [locked, waiting] = [await owner.createClient(), await owner.createClient()]
    await using lock = await lockClient(locked.clientId)
    {
      await using ending = await startApi({ beside: api })
      for (const { secret } of [locked, waiting])
        assert.equal((await send({ secrets: [secret] }, ending)).status, 202)
      await untilBlocked(api.db)
      setTimeout(() => lock.release(), 200)
    }
    for (const { clientId } of [locked, waiting]) assert.notEqual((await read(clientId)).secretFoundAt, null)
  })

  it('neither stores nor logs anything of a secret, wherever it was sent', async () => {
    const { clientId, secret } = await owner.createClient()
    const unknown = newClientSecret()
    await report([
      { token: secret, type: secret, url: `https://a.example/x?key=${secret}#${secret}`, source: secret },
      { token: unknown, type: unknown, url: `https://${unknown}@a.example/${unknown}`, source: unknown },
    ])
    await report({ secrets: [`${secret}x`], [secret]: secret })
    await api.request('POST', `${PATH}?secret=${secret}`, { body: `{"secrets":["${secret}` })
    assert.equal((await read(clientId)).secretFoundSource, 'a.example/x')
    const { rows } = await api.db.raw(
      `select c::text as line from oauth_clients c union all select a::text from activity a`,
    )
    const kept = api.logLines.concat(rows.map(({ line }: { line: string }) => line)).join('\n')
    const forms = (['hex', 'base64', 'base64url'] as const).map((form) => hashSecret(unknown).toString(form))
    for (const each of [secret.slice(4, 24), unknown.slice(4, 24), ...forms]) assert.ok(!kept.includes(each))
  })

  it('counts a report once for each 8 KiB', async () => {
    const env = { RATE_FOUND_SECRETS_PER_ADDRESS: '8/60', TRUSTED_PROXIES: '127.0.0.1' }
    await using limited = await startApi({ beside: api, env })
    const headers = { 'x-forwarded-for': '192.0.2.7' }
    const send = (kib: number) => {
      const left = kib * 1_024 - JSON.stringify([{ token: 'noise', url: '' }]).length
      return limited.request('POST', PATH, { body: [{ token: 'noise', url: 'x'.repeat(left) }], headers })
    }
    const answers = [await send(32), await send(24), await send(8), await send(1)]
    // Its length is not said, so it counts as the longest.
    headers['x-forwarded-for'] = '192.0.2.8'
    const body = new Blob([JSON.stringify({ secrets: ['noise'] })]).stream()
    const chunked = { 'content-type': 'application/json', ...headers }
    await fetch(limited.url + PATH, { method: 'POST', body, headers: chunked, duplex: 'half' } as RequestInit)
    answers.push(await send(1))
    // A /56 may send twice as many. What its /64 may not does not count.
    for (const subnet of [1, 1, 2, 3]) {
      headers['x-forwarded-for'] = `2001:db8:0:${subnet}::1`
      answers.push(await send(64))
    }
    assertStatuses(answers, 202, 202, 202, 429, 429, 202, 429, 202, 429)
  })

  it('logs and counts a report that the database refuses, without the secret or its place', async () => {
    const { log, lines } = createTestLog()
    const metrics = createMetrics({ service: 'api' })
    const reports = createFoundSecretReports({ db: api.apiDb, metrics, willBeRevoked: false })
    const marking = 'execute on function mark_found_secrets'
    await api.db.raw(`revoke ${marking} from integration_api`)
    await using _ = afterwards(() => api.db.raw(`grant ${marking} to integration_api`))
    const secretHash = hashSecret(newClientSecret())
    reports.add({ secrets: [{ secretHash, source: 'place.example/x' }], clientAddress: '192.0.2.1', log })
    await reports.stop()
    const lost = { event: 'secret_report.lost', reason: 'failed', secrets: 1, clientAddress: '192.0.2.1' }
    assert.partialDeepStrictEqual(lines, [{ level: 50, ...lost }])
    assert.match(String(lines[0]?.error), /permission denied for function mark_found_secrets$/)
    for (const text of [secretHash.toString('hex'), secretHash.toString('base64'), 'place.example'])
      assert.equal(JSON.stringify(lines).includes(text), false, text)
    assert.match(await metrics.registry.metrics(), /secret_reports_lost_total\{reason="failed"\} 1\n/)
  })

  it('answers 202 while Postgres is gone, and looks up what was reported once it is back', async () => {
    await using apart = await startApi()
    const { secret } = await apart.createClient()
    const comeBack = await cutOffDatabase(apart.database)
    assert.equal((await send({ secrets: [secret] }, apart)).status, 202)
    await comeBack()
    await eventually(async () => (await apart.db('activity')).length === 1)
    assert.deepEqual(loggedEvents(apart, 'secret_report.lost'), [])
  })

  it('logs what it could not look up before it stopped, but no secret', async () => {
    let logLines: string[]
    const secret = newClientSecret()
    {
      await using apart = await startApi()
      logLines = apart.logLines
      await cutOffDatabase(apart.database)
      assert.equal((await send({ secrets: [secret] }, apart)).status, 202)
    }
    const lost = loggedEvents({ logLines }, 'secret_report.lost')
    assert.partialDeepStrictEqual(lost, [{ level: 50, reason: 'stopped', secrets: 1 }])
    assert.equal(logLines.join('\n').includes(secret), false)
  })

  it('has what was found first revoked first, so that no flood of reports keeps a client Active', async () => {
    const ids: string[] = []
    for (const createdAt of [new Date('2026-03-01'), new Date('2026-01-01'), new Date('2026-02-01')]) {
      const { clientId, secret } = await owner.createClient({ createdAt })
      ids.push(clientId)
      await report({ secrets: [secret] })
    }
    const found = await listFoundClients(api.db, { except: [], limit: 1_000 })
    const own = found.filter(({ vendorId }) => vendorId === owner.vendorId).map(({ clientId }) => clientId)
    assert.deepEqual(own, ids)
  })

  it('revokes at both services, with FOUND_SECRETS=revoke, what is marked now or was before, whichever cannot be, and nothing else', async () => {
    await using auth = await startAuth({ beside: { ...api } })
    const own = { vendorId: owner.vendorId, scopes: ['analytics:read' as const] }
    const ask = async ({ secret, ...client }: { clientId: string; secret: string }) =>
      (await auth.token({ ...client, ...own, clientSecret: secret })).status
    const stuck = await Promise.all(Array.from({ length: 5 }, () => owner.createClient()))
    await report({ secrets: stuck.map(({ secret }) => secret) })
    const lock = await api.db.transaction()
    const stuckIds = stuck.map(({ clientId }) => clientId)
    await lock('oauth_clients').whereIn('client_id', stuckIds).forUpdate()
    await using _ = afterwards(() => lock.rollback())
    const before = await owner.createClient({ name: 'Before' })
    const [now, safe] = [await owner.createClient(), await owner.createClient()]
    await report({ secrets: [before.secret] })
    const daily = async ({ clientId }: { clientId: string }) => {
      const token = await api.issuer.token({ clientId, vendorId: owner.vendorId })
      return (await api.request('GET', `/v1/analytics/${owner.vendorId}/daily`, { token })).status
    }
    assert.deepEqual([await daily(before), await ask(before)], [200, 200])
    const env = { ...FREELY, FOUND_SECRETS: 'revoke' }
    await using revoking = await startApi({ beside: api, env, timeouts: {} })
    assert.equal((await revoking.request('POST', PATH, { body: { secrets: [now.secret] } })).status, 202)
    for (const client of [before, now]) {
      await eventually(async () => (await read(client.clientId)).status === 'Revoked')
      await eventually(async () => (await daily(client)) === 401)
      await eventually(async () => (await ask(client)) === 401)
    }
    const { status } = await read(safe.clientId)
    assert.deepEqual([await ask(safe), await daily(safe), status], [200, 200, 'Active'])
    const { json } = await owner.request('GET', `activity?action=client.revoked&clientId=${before.clientId}`)
    const [{ by, detail }] = json.entries
    assert.deepEqual(by, { userId: null, name: 'service' })
    assert.deepEqual(detail, { name: 'Before', reason: 'secret_found' })
  })
})

describe('a client secret', () => {
  it('is random from its first character on', () =>
    assert.notEqual(newClientSecret().slice(0, 10), newClientSecret().slice(0, 10)))
})

describe('the checksum of a client secret', () => {
  it('holds for each that is made', () => {
    for (let index = 0; index < 200; index += 1) assert.ok(hasSecretChecksum(newClientSecret()))
  })

  it('holds for an example that no one computed here', () => {
    // zlib.crc32 of Python over 43 zeros is 2018072207, in base 62 of 0-9A-Za-z: 2CZclj.
    assert.equal(hasSecretChecksum(`ias_${'0'.repeat(43)}2CZclj`), true)
  })

  it('does not hold for one character changed, added or taken away', () => {
    const secret = newClientSecret()
    for (let at = 0; at < secret.length; at += 1) {
      const other = secret[at] === 'a' ? 'b' : 'a'
      assert.equal(hasSecretChecksum(secret.slice(0, at) + other + secret.slice(at + 1)), false, `${at}`)
    }
    for (const each of [`${secret}a`, secret.slice(0, -1), ` ${secret}`, `${secret}\n`, '', 'ias_'])
      assert.equal(hasSecretChecksum(each), false)
  })
})

describe('the source of a found secret', () => {
  const token = newClientSecret()
  const part = token.slice(4, 24)
  const encoded = [...part].map((character) => `%${character.charCodeAt(0).toString(16)}`).join('')
  for (const [said, kept] of [
    [{ url: 'https://github.com/a/b/blob/main/.env' }, 'github.com/a/b/blob/main/.env'],
    [{ url: 'https://user:password@a.example:8443/x?token=1#L10' }, 'a.example:8443/x'],
    [{ url: 'https://a.example/<script>alert(1)</script>' }, 'a.example/%3Cscript%3Ealert(1)%3C/script%3E'],
    [{ url: 'https://пример.example/\u202Eгогл' }, 'xn--e1afmkfd.example/%E2%80%AE%D0%B3%D0%BE%D0%B3%D0%BB'],
    [{ url: 'https://a.example/a\nb\0c' }, 'a.example/ab%00c'],
    [{ url: 'javascript:alert(1)' }, null],
    [{ url: 'not a URL', source: 'commit' }, 'commit'],
    [{ url: { href: 'https://a.example' }, source: ['x'] }, null],
    [{ source: 'x\u202Ey' }, null],
    [{ source: 'x'.repeat(61) }, null],
    [{ url: `https://a.example/${'x'.repeat(2_000)}` }, null],
    [{ url: `https://a.example/${'x'.repeat(300)}` }, `a.example/${'x'.repeat(187)}...`],
    [{ url: `https://a.example/${token}` }, null],
    [{ url: `https://a.example/${token.slice(0, 20)}` }, null],
    [{ url: `https://a.example/${encoded.replaceAll('%', '%25')}` }, null],
    [{ url: `https://${token.toLowerCase().replace('_', '-')}.a.example/` }, null],
    [{ url: `https://a.example/${'x'.repeat(180)}${token}` }, null],
    [{ url: `https://a.example/ses_${'a'.repeat(43)}` }, null],
    [{ url: `https://a.example/inv_${'a'.repeat(43)}` }, null],
    [{ url: `https://a.example/pwr_${'a'.repeat(43)}` }, null],
    [{ source: token.slice(0, 30) }, null],
  ] as const)
    it(`keeps ${kept} of ${JSON.stringify(said).slice(0, 70).replaceAll(part, '…')}`, () =>
      assert.equal(sanitizeSource({ token, ...said }), kept))
})
