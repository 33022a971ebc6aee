import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { appendEntries, newLogKey } from '../support/activity-log.ts'
import { type Person, startApi, type TestApi } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'

const PAGE = join(import.meta.dirname, '../../apps/api/discovery/docs/pages/activity.md')

// biome-ignore lint/suspicious/noExplicitAny: an answer, to be changed.
type Answer = any

describe('documentation: how a company checks its activity', () => {
  let api: TestApi
  let folder: string
  let vendorId: string
  let owner: Person
  let answer: Answer
  before(async () => {
    api = await startApi({ env: { LOG_SIGNING_KEY: newLogKey() } })
    folder = await mkdtemp(join(tmpdir(), 'integration-access-activity-'))
    ;({ vendorId } = await api.createCompany())
    const other = await api.createCompany()
    owner = await api.createPerson({ vendorId })
    for (const id of [vendorId, other.vendorId, vendorId]) await appendEntries(api.db, 4, id)
    const text = await readFile(PAGE, 'utf8')
    const [, program = ''] =
      /```js check-activity\.mjs\n([\s\S]*?)```/.exec(text) ?? assert.fail('no example')
    await writeFile(join(folder, 'check.mjs'), program)
    const keys = await fetch(`${api.url}/.well-known/activity-keys.json`)
    assert.equal(keys.headers.get('content-type'), 'application/jwk-set+json')
    await writeFile(join(folder, 'keys.json'), await keys.text())
    await eventually(async () => {
      answer = (await list()).json
      return answer.entries.every(({ log }: Answer) => log !== null)
    })
  })
  after(async () => {
    await api.stop()
    await rm(folder, { recursive: true })
  })

  const list = () =>
    api.request('GET', `/v1/vendor/${vendorId}/activity?proof=true`, { token: owner.sessionToken })
  async function check(changed: Answer): Promise<{ good: number; bad: string[]; stderr: string }> {
    await writeFile(join(folder, 'answer.json'), JSON.stringify(changed))
    const args = ['check.mjs', 'answer.json', 'keys.json', vendorId]
    const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
    const lines = stdout.split('\n').filter(Boolean)
    const bad = lines.filter((line) => line.endsWith('NOT WHAT WAS LOGGED'))
    return { good: lines.length - bad.length, bad: bad.map((line) => line.split(' ')[0] as string), stderr }
  }

  it('finds every entry of an answer good', async () => {
    assert.deepEqual(await check(answer), { good: 8, bad: [], stderr: '' })
  })

  for (const [what, change] of [
    ['a subject', (entry: Answer) => ({ ...entry, subject: 'cli_x' })],
    ['a time', (entry: Answer) => ({ ...entry, at: entry.at.replace('Z', '1Z') })],
    ['a detail', (entry: Answer) => ({ ...entry, detail: { ...entry.detail, before: null } })],
    ['a detail without its salt', (entry: Answer) => ({ ...entry, log: { ...entry.log, salt: null } })],
    ['a person', (entry: Answer) => ({ ...entry, by: { userId: 'usr_x', name: '' } })],
    ['a place', (entry: Answer) => ({ ...entry, log: { ...entry.log, index: entry.log.index - 1 } })],
    ['a proof', (entry: Answer) => ({ ...entry, log: { ...entry.log, proof: '' } })],
  ] as const)
    it(`finds ${what} that was changed`, async () => {
      const entries = answer.entries.map((entry: Answer, i: number) => (i === 3 ? change(entry) : entry))
      assert.deepEqual((await check({ ...answer, entries })).bad, [answer.entries[3].entryId])
    })

  it('refuses a head that another key has signed', async () => {
    const keys = JSON.parse(await readFile(join(folder, 'keys.json'), 'utf8'))
    const other = await startApi({ beside: api, env: { LOG_SIGNING_KEY: newLogKey() } })
    const answered = await fetch(`${other.url}/.well-known/activity-keys.json`)
    const [stranger] = ((await answered.json()) as Answer).keys
    await other.stop()
    const forged = { keys: [{ ...stranger, kid: keys.keys[0].kid }] }
    await writeFile(join(folder, 'keys.json'), JSON.stringify(forged))
    try {
      assert.match((await check(answer)).stderr, /bad signature/)
    } finally {
      await writeFile(join(folder, 'keys.json'), JSON.stringify(keys))
    }
  })

  it('still finds an entry good whose detail was erased', async () => {
    const { entryId } = answer.entries[2]
    await api.db.raw(`update activity set detail = '{}', salt = null where entry_id = ?`, [entryId])
    const { json } = await list()
    assert.deepEqual([json.entries[2].detail, json.entries[2].log.salt], [{}, null])
    assert.deepEqual(await check(json), { good: 8, bad: [], stderr: '' })
  })

  it('has a proof of an entry once the log holds it, and only if asked', async () => {
    const plain = await api.request('GET', `/v1/vendor/${vendorId}/activity`, { token: owner.sessionToken })
    assert.deepEqual([plain.json.head, plain.json.entries[0].log], [undefined, undefined])
    const newest = await api.db.transaction(async (transaction) => {
      await transaction.raw(`select pg_advisory_xact_lock(hashtext('activity log'))`)
      await appendEntries(api.db, 1, vendorId)
      return (await list()).json
    })
    assert.deepEqual([newest.entries[0].log, newest.entries[1].log.salt === null], [null, false])
    assert.equal(newest.head.treeSize, answer.head.treeSize)
    await eventually(async () => (await list()).json.head.treeSize === answer.head.treeSize + 1)
  })

  it('has the receipt of a revocation, which the answer returns each time', async () => {
    const { clientId } = await api.createClient({ vendorId })
    const revoke = () =>
      api.request('POST', `/v1/vendor/${vendorId}/oauth-clients/${clientId}/revoke`, {
        token: owner.sessionToken,
      })
    const before = (await list()).json.head
    const receipt = (await revoke()).headers.get('activity-receipt') ?? assert.fail('no receipt')
    const keys = createLocalJWKSet(JSON.parse(await readFile(join(folder, 'keys.json'), 'utf8')))
    const { payload } = await jwtVerify(receipt, keys, { typ: 'activity-receipt+jwt', algorithms: ['EdDSA'] })
    const { iat = 0, iss, after, ...act } = payload
    assert.ok(Math.abs(iat * 1_000 - Date.now()) < 60_000)
    assert.equal(iss, 'https://api.test')
    assert.ok((after as Answer).treeSize >= before.treeSize)
    assert.deepEqual(act, { action: 'client.revoked', subject: clientId, vendorId, userId: owner.userId })
    assert.equal((await list()).json.entries[0].detail.receipt, receipt)
    assert.equal((await revoke()).headers.get('activity-receipt'), receipt)
  })
})
