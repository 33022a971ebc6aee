import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { newClientId } from '../../apps/api/accounts/new-ids.ts'
import { markClientRevoked } from '../../apps/api/clients/records.ts'
import {
  CLIENT_RECORD_LIFETIME_MS,
  type ClientRecords,
  createClientRecords,
} from '../../apps/auth/client-records.ts'
import { afterwards, forBlock } from '../support/block.ts'
import { sharedDatabase } from '../support/database.ts'
import { createSubjects } from '../support/revocation.ts'
import { connectedDatabase, countBlocked, lockTable, untilBlocked } from '../support/stores.ts'

describe('the client records that a process remembers', () => {
  const db = sharedDatabase()
  const subjects = forBlock(() => createSubjects(db.owner))
  let clientId: string
  let records: ClientRecords
  let reads: number
  let wall_ms: number
  let monotonic_ms: number

  before(() => db.auth.on('query', () => reads++))
  beforeEach(async () => {
    wall_ms = Date.now()
    monotonic_ms = 0
    clientId = await subjects.newClient()
    records = createRecords()
    reads = 0
  })

  /** As authentication does it. */
  const find = async (id = clientId) => records.peek(id) ?? records.read(id)

  const pass = (duration_ms: number) => {
    wall_ms += duration_ms
    monotonic_ms += duration_ms
  }
  const clocks = { clock: { now: () => wall_ms }, monotonic: () => monotonic_ms }
  const createRecords = (max?: number) => createClientRecords({ db: db.auth, ...clocks, ...(max && { max }) })

  it('reads a client once in five minutes, however often the record was used', async () => {
    const record = await find()
    assert.deepEqual([record?.vendorId, record?.scopes], [subjects.vendorId, ['analytics:read']])
    pass(CLIENT_RECORD_LIFETIME_MS - 1)
    assert.equal(await find(), record)
    assert.equal(reads, 1)
    pass(1)
    await find()
    assert.equal(reads, 2)
  })

  it('counts the five minutes from the start of the read, not from its end', async () => {
    const slow = find()
    pass(CLIENT_RECORD_LIFETIME_MS - 1)
    await slow
    pass(1)
    await find()
    assert.equal(reads, 2)
  })

  for (const [what, byWall_ms, byMonotonic_ms] of [
    ['the wall clock was set back', -3_600_000, CLIENT_RECORD_LIFETIME_MS],
    ['the machine slept, which the monotonic clock does not count', CLIENT_RECORD_LIFETIME_MS, 0],
  ] as const)
    it(`reads again when ${what}`, async () => {
      await find()
      wall_ms += byWall_ms
      monotonic_ms += byMonotonic_ms
      await find()
      assert.equal(reads, 2)
    })

  it('reads those who are asked for at the same time in one query, and gives each its own record', async () => {
    const clientIds: string[] = []
    while (clientIds.length < 20) clientIds.push(await subjects.newClient())
    const asked = [...clientIds.toReversed(), newClientId()]
    const found = await Promise.all(asked.map((id) => find(id)))
    const expected = [...clientIds.toReversed(), undefined]
    assert.deepEqual([reads, found.map((record) => record?.clientId)], [1, expected])
  })

  it('takes three connections at most, however many are asked for one by one', async () => {
    const lock = await lockTable(db.owner, 'oauth_clients')
    await using _ = afterwards(() => lock.rollback())
    const found: Promise<unknown>[] = []
    for (const count of [1, 2, 3, 3, 3, 3]) {
      found.push(find(newClientId()))
      await untilBlocked(db.owner, count)
    }
    await sleep(200)
    assert.equal(await countBlocked(db.owner), 3)
    await lock.rollback()
    await Promise.all(found)
  })

  it('does not remember that a client is unknown', async () => {
    const unknown = newClientId()
    assert.deepEqual([await find(unknown), await find(unknown), reads], [undefined, undefined, 2])
  })

  it('keeps the record that it has when it reads again, so that what hangs on it stays', async () => {
    const record = await records.read(clientId)
    pass(60_000)
    await records.read(clientId)
    assert.equal(records.peek(clientId), record)
    pass(CLIENT_RECORD_LIFETIME_MS - 60_000)
    assert.equal(records.peek(clientId), undefined)
  })

  it('takes over at once that a client was revoked', async () => {
    await records.read(clientId)
    await markClientRevoked(db.owner, { clientId, vendorId: subjects.vendorId, revokedBy: null })
    await records.read(clientId)
    assert.equal(records.peek(clientId)?.status, 'Revoked')
  })

  it('does not remember a failed read', async () => {
    await using broken = connectedDatabase('postgres://nobody:x@127.0.0.1:1/none')
    let reached: Database = broken
    records = createClientRecords({
      clock: systemClock,
      db: new Proxy(broken, { get: (_, name) => Reflect.get(reached, name) }),
    })
    await assert.rejects(find())
    reached = db.auth
    assert.equal((await find())?.clientId, clientId)
  })

  it('remembers no more than it may, and forgets the oldest read first', async () => {
    records = createRecords(2)
    const [a, b, c] = await Promise.all([subjects.newClient(), subjects.newClient(), subjects.newClient()])
    for (const id of [a, b, a, c]) await find(id)
    assert.equal(reads, 3)
    for (const id of [b, c]) await find(id)
    assert.equal(reads, 3)
    await find(a)
    assert.equal(reads, 4)
  })
})
