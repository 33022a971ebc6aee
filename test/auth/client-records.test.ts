import assert from 'node:assert/strict'
import { markClientRevoked } from '#shared/oauth/clients.ts'
import { newClientId } from '#shared/oauth/new-ids.ts'
import { systemClock } from '#shared/process/clock.ts'
import { createPostgres, type Database } from '#shared/stores/postgres.ts'
import {
  CLIENT_RECORD_LIFETIME_MS,
  type ClientRecords,
  createClientRecords,
} from '../../apps/auth/client-records.ts'
import { createSubjects, type Subjects } from '../support/revocation.ts'
import { createTestDatabase, type TestDatabase } from '../support/servers.ts'

describe('the client records that a process remembers', () => {
  let database: TestDatabase
  let owner: Database
  let auth: Database
  let subjects: Subjects
  let reads: number
  let wall_ms: number
  let monotonic_ms: number

  before(async () => {
    database = await createTestDatabase()
    owner = createPostgres({ url: database.ownerUrl, poolSize: 2, applicationName: 'test' })
    auth = createPostgres({ url: database.authUrl, poolSize: 2, applicationName: 'test' })
    auth.on('query', () => {
      reads += 1
    })
    subjects = await createSubjects(owner)
  })
  beforeEach(() => {
    reads = 0
    wall_ms = Date.now()
    monotonic_ms = 0
  })
  after(async () => {
    await Promise.all([owner.destroy(), auth.destroy()])
    await database.drop()
  })

  /** As authentication does it. */
  const find = async (records: ClientRecords, clientId: string) =>
    records.remembered(clientId) ?? records.read(clientId)

  const pass = (duration_ms: number) => {
    wall_ms += duration_ms
    monotonic_ms += duration_ms
  }
  const createRecords = (max?: number) =>
    createClientRecords({
      db: auth,
      clock: { now: () => wall_ms },
      monotonic: () => monotonic_ms,
      ...(max === undefined ? {} : { max }),
    })

  it('reads a client once in five minutes', async () => {
    const records = createRecords()
    const clientId = await subjects.newClient()
    const record = await find(records, clientId)
    assert.equal(record?.vendorId, subjects.vendorId)
    assert.deepEqual(record?.scopes, ['analytics:read'])
    pass(CLIENT_RECORD_LIFETIME_MS - 1)
    assert.equal(await find(records, clientId), record)
    assert.equal(reads, 1)
  })

  it('reads again after five minutes, however often the record was used', async () => {
    const records = createRecords()
    const clientId = await subjects.newClient()
    for (let minute = 0; minute < 5; minute += 1) {
      await find(records, clientId)
      pass(60_000)
    }
    assert.equal(reads, 1)
    await find(records, clientId)
    assert.equal(reads, 2)
  })

  it('counts the five minutes from the start of the read, not from its end', async () => {
    const records = createRecords()
    const clientId = await subjects.newClient()
    const slow = find(records, clientId)
    pass(CLIENT_RECORD_LIFETIME_MS - 1)
    await slow
    pass(1)
    await find(records, clientId)
    assert.equal(reads, 2)
  })

  it('reads again when the wall clock was set back', async () => {
    const records = createRecords()
    const clientId = await subjects.newClient()
    await find(records, clientId)
    wall_ms -= 3_600_000
    monotonic_ms += CLIENT_RECORD_LIFETIME_MS
    await find(records, clientId)
    assert.equal(reads, 2)
  })

  it('reads again when the machine slept, which the monotonic clock does not count', async () => {
    const records = createRecords()
    const clientId = await subjects.newClient()
    await find(records, clientId)
    wall_ms += CLIENT_RECORD_LIFETIME_MS
    await find(records, clientId)
    assert.equal(reads, 2)
  })

  it('shares one read among those who ask at the same time', async () => {
    const records = createRecords()
    const clientId = await subjects.newClient()
    await Promise.all(Array.from({ length: 20 }, () => find(records, clientId)))
    assert.equal(reads, 1)
  })

  it('reads those who are asked for at the same time in one query, and gives each its own record', async () => {
    const records = createRecords()
    const clientIds: string[] = []
    while (clientIds.length < 20) clientIds.push(await subjects.newClient())
    const asked = [...clientIds.toReversed(), newClientId()]
    const found = await Promise.all(asked.map((clientId) => find(records, clientId)))
    assert.deepEqual(
      found.map((record) => record?.clientId),
      [...clientIds.toReversed(), undefined],
    )
    assert.equal(reads, 1)
  })

  it('does not remember that a client is unknown', async () => {
    const records = createRecords()
    const unknown = newClientId()
    assert.equal(await find(records, unknown), undefined)
    assert.equal(await find(records, unknown), undefined)
    assert.equal(reads, 2)
  })

  it('keeps the record that it has when it reads again, so that what hangs on it stays', async () => {
    const records = createRecords()
    const clientId = await subjects.newClient()
    const record = await records.read(clientId)
    pass(60_000)
    await records.read(clientId)
    assert.equal(records.remembered(clientId), record)
    pass(CLIENT_RECORD_LIFETIME_MS - 60_000)
    assert.equal(records.remembered(clientId), undefined)
  })

  it('takes over at once that a client was revoked', async () => {
    const records = createRecords()
    const clientId = await subjects.newClient()
    await records.read(clientId)
    await markClientRevoked(owner, { clientId, vendorId: subjects.vendorId, revokedBy: null })
    await records.read(clientId)
    assert.equal(records.remembered(clientId)?.status, 'Revoked')
  })

  it('does not remember a failed read', async () => {
    const broken = createPostgres({
      url: 'postgres://nobody:x@127.0.0.1:1/none',
      poolSize: 1,
      applicationName: 'test',
    })
    let db: Database = broken
    const records = createClientRecords({
      clock: systemClock,
      db: new Proxy(auth, { get: (_, name) => Reflect.get(db, name) }),
    })
    const clientId = await subjects.newClient()
    await assert.rejects(find(records, clientId))
    db = auth
    assert.equal((await find(records, clientId))?.clientId, clientId)
    await broken.destroy()
  })

  it('remembers no more than it may, and forgets the oldest read first', async () => {
    const records = createRecords(2)
    const [a, b, c] = await Promise.all([subjects.newClient(), subjects.newClient(), subjects.newClient()])
    for (const clientId of [a, b, a, c]) await find(records, clientId)
    assert.equal(reads, 3)
    await find(records, b)
    await find(records, c)
    assert.equal(reads, 3)
    await find(records, a)
    assert.equal(reads, 4)
  })
})
