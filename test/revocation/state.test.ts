import assert from 'node:assert/strict'
import { insertRevokedSigningKey, insertRevokedToken, readStandings } from '#shared/revocation/state.ts'
import { markClientRevoked } from '../../apps/api/clients/records.ts'
import { readRecentRevocations, replaceNamedServer } from '../../apps/api/revocation/recent-revocations.ts'
import { forBlock, forEachTest } from '../support/block.ts'
import { sharedDatabase } from '../support/database.ts'
import { createSubjects, newJti } from '../support/revocation.ts'

type Subjects = Awaited<ReturnType<typeof createSubjects>>

describe('what Postgres keeps of revocations', () => {
  const db = sharedDatabase()
  const subjects = forBlock(() => createSubjects(db.owner))
  let clientId: string

  const HOUR_MS = 3_600_000
  const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000)

  before(async () => {
    clientId = await subjects.newClient()
  })

  it('records a token or a key once, however often it is revoked', async () => {
    const [jti, kid] = [newJti(), await subjects.newKey()]
    for (let i = 0; i < 2; i += 1) {
      await insertRevokedToken(db.auth, { jti, clientId, expiresAt: inSeconds(900) })
      await insertRevokedSigningKey(db.owner, kid)
    }
    const { tokens, keys } = await readRecentRevocations(db.api, HOUR_MS)
    assert.deepEqual([tokens.filter((t) => t === jti), keys.filter((k) => k === kid)], [[jti], [kid]])
  })

  it('knows a revocation that Redis names, be it of a client or of a signing key', async () => {
    const [revoked, active] = [await subjects.newClient(), await subjects.newClient()]
    const kid = await subjects.newKey()
    await markClientRevoked(db.owner, { vendorId: subjects.vendorId, clientId: revoked, revokedBy: null })
    await insertRevokedSigningKey(db.owner, kid)
    const knows = async (seen: string) =>
      (await readRecentRevocations(db.api, HOUR_MS, { seen })).database.knowsSeen
    const known = await Promise.all(['', revoked, kid, active, newJti()].map(knows))
    assert.deepEqual(known, [true, true, true, false, false])
  })

  it('gives each who asks its own standing, in whatever order Postgres joins them', async () => {
    const clientIds = (await Promise.all([1, 2, 3].map(() => subjects.newClient()))).toSorted()
    const [revoked = ''] = clientIds
    await markClientRevoked(db.owner, { vendorId: subjects.vendorId, clientId: revoked, revokedBy: null })
    await db.owner.transaction(async (transaction) => {
      await transaction.raw('set local enable_hashjoin = off')
      await transaction.raw('set local enable_nestloop = off')
      for (const asked of [clientIds, clientIds.toReversed()]) {
        const subjects = asked.map((clientId) => ({ clientId }))
        const expected = asked.map((clientId) => (clientId === revoked ? { revoked: 'client' } : 'live'))
        assert.deepEqual(await readStandings(transaction, subjects), expected)
      }
    })
  })

  it('names a server only in place of the one that was read', async () => {
    const { named } = await readRecentRevocations(db.api, HOUR_MS)
    const first = await replaceNamedServer(db.api, named, 'first')
    assert.equal(first?.runId, 'first')
    assert.equal(await replaceNamedServer(db.api, named, 'second'), undefined)
    assert.deepEqual((await readRecentRevocations(db.api, HOUR_MS)).named, first)
  })

  it('does not take a server that was named, replaced and named again for the one that was read', async () => {
    const { named: read } = await readRecentRevocations(db.api, HOUR_MS)
    const other = await replaceNamedServer(db.api, read, 'other')
    assert.ok(other)
    const again = await replaceNamedServer(db.api, other, read.runId)
    assert.equal(await replaceNamedServer(db.api, read, 'third'), undefined)
    assert.deepEqual((await readRecentRevocations(db.api, HOUR_MS)).named, again)
  })

  describe('how many tokens a company may have on the page', () => {
    const companies = forEachTest(() => Promise.all([1, 2, 3].map(() => createSubjects(db.owner))))
    afterEach(() => db.owner.raw('delete from revoked_tokens'))

    const PAGE_MAX = 10_000

    async function fill(company: Subjects | undefined, count: number, left_s = 900) {
      const { newClient } = company as Subjects
      await db.owner.transaction(async (transaction) => {
        await transaction.raw('set local session_replication_role = replica')
        await transaction.raw(
          `insert into revoked_tokens (jti, client_id, expires_at)
           select gen_random_uuid(), (array[?, ?])[1 + n % 2], now() + make_interval(secs => ?)
           from generate_series(1, ?) n`,
          [await newClient(), await newClient(), left_s, count],
        )
      })
    }
    async function isAdmitted(company: Subjects | undefined, jti = newJti()): Promise<boolean> {
      const client = await company?.newClient()
      const token = { jti, clientId: client ?? '', expiresAt: inSeconds(900) }
      return insertRevokedToken(db.auth, token).then(
        () => true,
        ({ code }) => {
          assert.equal(code, 'PAGE1')
          return false
        },
      )
    }

    for (const [what, others, its, expected] of [
      ['all it wants while the page is empty', 0, 0, true],
      ['up to half of the page', 0, PAGE_MAX / 2 - 1, true],
      ['no more than half of it', 0, PAGE_MAX / 2, false],
      ['up to as much as is free', 9_000, 499, true],
      ['no more than is free', 9_000, 500, false],
      ['one token, though others took all', PAGE_MAX, 0, true],
      ['no second token then', PAGE_MAX, 1, false],
    ] as const)
      it(`gives a company ${what}`, async () => {
        await fill(companies[0], others)
        await fill(companies[1], its)
        assert.equal(await isAdmitted(companies[1]), expected)
        if (!expected) assert.equal(await isAdmitted(companies[2]), true)
      })

    it('stores what Redis alone knew, however full the page is', async () => {
      await fill(companies[0], PAGE_MAX)
      const [jti, expiresAt] = [newJti(), inSeconds(900)]
      await db.api.raw('insert into revoked_tokens (jti, expires_at) values (?, ?)', [jti, expiresAt])
    })

    it('stores a token of a dump of data alone, whose COPY has no search path', async () => {
      const client = await companies[0]?.newClient()
      await db.owner.transaction(async (transaction) => {
        await transaction.raw(`set local search_path = ''`)
        const token = { jti: 'a token of a dump', client_id: client, expires_at: inSeconds(60) }
        await transaction('public.revoked_tokens').insert(token)
      })
    })

    it('counts no token that has left the page', async () => {
      await fill(companies[0], PAGE_MAX, -310)
      assert.equal(await isAdmitted(companies[0]), true)
      await fill(companies[0], PAGE_MAX, -290)
      assert.equal(await isAdmitted(companies[0]), false)
    })

    it('admits a token again that is revoked already', async () => {
      await fill(companies[0], PAGE_MAX)
      const { rows } = await db.owner.raw('select jti from revoked_tokens limit 1')
      assert.equal(await isAdmitted(companies[0], rows[0].jti), true)
      assert.equal(await isAdmitted(companies[0]), false)
    })
  })
})
