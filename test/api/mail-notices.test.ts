import assert from 'node:assert/strict'
import type { Redis } from 'ioredis'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { redisReady } from '#shared/stores/redis-ready.ts'
import { noticeExpiringClients } from '../../apps/api/clients/notice-expiring-clients.ts'
import { noticeFailingClients } from '../../apps/api/clients/notice-failing-clients.ts'
import type { NoticeNeeds } from '../../apps/api/mail/outbox.ts'
import { noticeQuietClients } from '../../apps/api/rotation/notice-quiet-clients.ts'
import { listFailingIssuers } from '../../apps/api/workload/issuers.ts'
import { noticeFailingIssuers } from '../../apps/api/workload/notice-failing-issuers.ts'
import { freshOwner, sharedApi, type TestPerson } from '../support/api.ts'
import { afterwards, forBlock, forEachTest } from '../support/block.ts'
import { sharedUsage } from '../support/client-usage.ts'
import { eventually } from '../support/eventually.ts'
import { untilBlocked } from '../support/stores.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const OWN = '203.0.113.7'
const STRANGER = '198.51.100.9'

describe('what is mailed to the people who manage a company', () => {
  const api = sharedApi()
  const noted = sharedUsage(api)
  const redis = forBlock(() => api.redis.connect('api'))
  const owner = freshOwner(api)
  const admin = forEachTest(() => api.createPerson({ vendorId: owner.vendorId, role: 'admin' }))
  beforeEach(async () => {
    await api.createPerson({ vendorId: owner.vendorId, role: 'admin', status: 'suspended' })
    for (const role of ['viewer', 'member'] as const)
      await api.createPerson({ vendorId: owner.vendorId, role })
    // Not that of the API, which would have to say that it lost some.
    await api.db('usage_writers').whereNotNull('lost_at').delete()
    // Clients of earlier tests must not be noticed in later ones.
    await api.db.raw(`update oauth_clients set status = 'Revoked' where status = 'Active'`)
  })

  const run = (job: (needs: NoticeNeeds & { redis: Redis }) => Promise<void>) =>
    job({ db: api.apiDb, redis, clock: api.clock, isEnding: () => false })
  const loseUses = (lost_at: Date) =>
    api.db('usage_writers').insert({ writer: crypto.randomUUID(), batch: 1, lost_at })
  const isoNow = () => new Date(api.clock.now()).toISOString()
  const mailsTo = ({ userId: user_id }: TestPerson) =>
    api.db('mails').where({ user_id }).orderBy('created_at').select('kind', 'vendor_id', 'detail')
  /** The details of a company's mails of a kind, which all who manage it have got, and no one else. */
  async function details(kind: string, person: TestPerson = owner, others = [admin]) {
    const mails = await mailsTo(person)
    const mine = mails.filter((mail) => mail.vendor_id === person.vendorId)
    for (const other of others) assert.deepEqual(await mailsTo(other), mails)
    const all = await api.db('mails').where({ vendor_id: person.vendorId })
    assert.equal(all.length, mine.length * (1 + others.length))
    return mine.filter((mail) => mail.kind === kind).map(({ detail }) => detail)
  }
  const use = (clientId: string, at: string) => {
    api.clock.set(at)
    return noted.issued(clientId)
  }
  /** More clients than are read at a time, of a company before any other, and as many of the next. */
  async function fillPages(first: string, until: Date) {
    for (const [vendorId, count] of Object.entries({ [first]: 501, [`${first}A`]: 500 })) {
      const { userId } = await api.createOwner({ vendorId })
      await api.db.raw(
        `with clients as (insert into oauth_clients
             (client_id, vendor_id, name, scopes, secret_hash, expires_at, created_at, created_by)
           select 'cli_' || left(md5(:vendorId || n), 22), :vendorId, 'Sync', '{analytics:read}', sha256(n::text::bytea),
             :until, '2025-01-01', :userId from generate_series(1, :count::int) n returning client_id),
         used as (insert into client_usage select client_id, :until, :until from clients)
         insert into client_usage_hourly select client_id, :until, 1, 1 from clients`,
        { vendorId, userId, until, count },
      )
    }
  }
  const revoke = (clientId: string) =>
    api.db('oauth_clients').where({ client_id: clientId }).update({ status: 'Revoked' })

  const report = async ({ clientId, secret }: { clientId: string; secret: string }, url: string) => {
    await api.request('POST', '/v1/found-secrets', { body: [{ token: secret, url }] })
    const found = api.db('oauth_clients').where({ client_id: clientId }).whereNotNull('secret_found_at')
    return eventually(() => found.clone().first())
  }

  it('says when a secret was found, once, without a word of who found it', async () => {
    const client = await owner.createClient({ name: 'Export' })
    const other = await api.createOwner()
    const { secret_found_at } = await report(client, 'https://evil.example/path')
    await report(client, 'https://second.example/')
    await report(await other.createClient(), 'https://evil.example/path')
    const mailed = { clientId: client.clientId, name: 'Export' }
    const foundAt = secret_found_at.toISOString()
    assert.deepEqual(await details('secret_found'), [{ client: mailed, foundAt, willBeRevoked: false }])
    assert.equal((await details('secret_found', other, [])).length, 1)
  })

  describe('about a failing client', () => {
    const client = forEachTest(() => owner.createClient({ name: 'Sync' }))
    const issued = (address = OWN) => noted.issued(client.clientId, { address })
    const refused = (address = OWN, times = 1) =>
      noted.answered(
        ...Array.from({ length: times }, () => ({
          clientId: client.clientId,
          vendorId: owner.vendorId,
          address,
          route: 'POST /v1/oauth/token',
          proven: false,
          requestId: crypto.randomUUID(),
          status: 401,
          code: 'invalid_client',
          reason: 'wrong_secret',
        })),
      )
    const notice = async () => {
      await run(noticeFailingClients)
      return details('client_failing')
    }
    /** Used once, refused 20 minutes later. Returns what is to be mailed 30 minutes after that. */
    async function fail() {
      const lastTokenAt = isoNow()
      await issued()
      api.clock.advance(20 * MINUTE_MS)
      await refused()
      const seen = { cause: 'wrong_secret', senderKnown: true, lastTokenAt, since: isoNow() }
      return { client: { clientId: client.clientId, name: 'Sync' }, ...seen }
    }

    it('comes after 30 minutes of refusals, and not again on that day', async () => {
      api.clock.set('2026-03-10T06:00:00Z')
      const expected = await fail()
      api.clock.advance(30 * MINUTE_MS - 1)
      assert.deepEqual(await notice(), [])
      api.clock.advance(1)
      assert.deepEqual(await notice(), [expected])
      await refused()
      api.clock.advance(HOUR_MS)
      assert.deepEqual(await notice(), [expected])
    })

    for (const [timezone, midnight] of [
      ['Pacific/Kiritimati', '2026-03-10T10:00:00Z'],
      ['Pacific/Pago_Pago', '2026-03-10T11:00:00Z'],
    ] as const)
      it(`comes again after midnight in ${timezone} while it lasts`, async () => {
        await api.db('companies').where({ vendor_id: owner.vendorId }).update({ timezone })
        api.clock.set(Date.parse(midnight) - 2 * HOUR_MS)
        await fail()
        const mails: number[] = []
        for (const at_ms of [-HOUR_MS, -1, 0, HOUR_MS]) {
          api.clock.set(Date.parse(midnight) + at_ms)
          await refused()
          mails.push((await notice()).length)
        }
        assert.deepEqual(mails, [1, 1, 2, 2])
      })

    it('does not come once it has got a token, or is Revoked', async () => {
      await fail()
      api.clock.advance(30 * MINUTE_MS)
      await issued()
      assert.deepEqual(await notice(), [])
      await fail()
      api.clock.advance(30 * MINUTE_MS)
      await revoke(client.clientId)
      assert.deepEqual(await notice(), [])
    })

    it('does not come about a client without a token in 7 days', async () => {
      await issued()
      api.clock.advance(7 * DAY_MS)
      await refused()
      api.clock.advance(30 * MINUTE_MS)
      assert.deepEqual(await notice(), [])
    })

    it('does not come because of a stranger, until the client has been quiet for longer than ever', async () => {
      await issued()
      api.clock.advance(3 * DAY_MS - 30 * MINUTE_MS)
      await refused(STRANGER, 60)
      api.clock.advance(30 * MINUTE_MS)
      assert.deepEqual(await notice(), [], 'with one token')
      await issued()
      for (const hours of [8, 20, 24, 12]) {
        api.clock.advance(hours * HOUR_MS)
        await refused(STRANGER, 60)
        api.clock.advance(30 * MINUTE_MS)
        assert.deepEqual(await notice(), [], `${hours}`)
      }
      api.clock.advance(6 * HOUR_MS)
      await refused(STRANGER)
      assert.deepEqual(await notice(), [])
      api.clock.advance(1)
      assert.partialDeepStrictEqual(await notice(), [{ senderKnown: false }])
    })

    it('counts from the time until which tokens may be missing', async () => {
      const expected = await fail()
      api.clock.advance(30 * MINUTE_MS)
      const since = new Date(api.clock.now() - MINUTE_MS)
      await loseUses(since)
      await run(noticeFailingClients)
      assert.deepEqual(await details('client_failing'), [])
      api.clock.advance(29 * MINUTE_MS)
      await run(noticeFailingClients)
      assert.deepEqual(await details('client_failing'), [{ ...expected, since: since.toISOString() }])
    })

    it('comes to each of more companies than are read at a time, whatever Redis fails to read of another', async () => {
      const expected = await fail()
      await fillPages('ven_00', new Date(api.clock.now() - HOUR_MS))
      const first = await api.db('oauth_clients').where({ vendor_id: 'ven_00' }).first()
      await redis.set(redisKeys.refusals('proven', 'ven_00', first.client_id), 'not a sorted set')
      api.clock.advance(30 * MINUTE_MS)
      assert.deepEqual(await notice(), [expected])
    })

    it('waits while Redis is away', async () => {
      const expected = await fail()
      api.clock.advance(30 * MINUTE_MS)
      await api.redis.stop('SIGTERM')
      {
        await using _ = afterwards(async () => {
          await api.redis.start()
          await redisReady(redis)
        })
        assert.deepEqual(await notice(), [])
      }
      await refused()
      // What was refused before was in Redis alone.
      api.clock.advance(30 * MINUTE_MS)
      assert.partialDeepStrictEqual(await notice(), [{ client: expected.client, cause: 'wrong_secret' }])
    })
  })

  describe('about clients that expire', () => {
    const expiring = (expiresAt: string, person = owner, name = 'Sync', createdAt = '2025-01-01T00:00:00Z') =>
      person.createClient({ name, expiresAt: new Date(expiresAt), createdAt: new Date(createdAt) })
    const notice = async (at: string | number, person = owner) => {
      api.clock.set(at)
      await run(noticeExpiringClients)
      return (await details('clients_expire', person, person === owner ? [admin] : [])).map(({ clients }) =>
        clients.map(({ name }: { name: string }) => name),
      )
    }

    for (const [title, timezone, expiresAt, eight] of [
      ['the day before', 'Europe/Berlin', '2026-01-15T22:59:59Z', '2026-01-14T07:00:00Z'],
      ['7 days before', 'Europe/Berlin', '2026-01-21T22:59:59Z', '2026-01-14T07:00:00Z'],
      ['30 days before, clocks changed', 'Europe/Berlin', '2026-04-13T21:59:59Z', '2026-03-14T07:00:00Z'],
      ['on a day of 23 hours', 'Europe/Berlin', '2026-03-29T22:00:00Z', '2026-03-29T06:00:00Z'],
      ['in a zone far west', 'Pacific/Pago_Pago', '2026-01-16T10:59:59Z', '2026-01-14T19:00:00Z'],
      ['by UTC in an unknown zone', 'Mars/Olympus', '2026-01-15T23:59:59Z', '2026-01-14T08:00:00Z'],
    ] as const)
      it(`comes from 08:00, once: ${title}`, async () => {
        await api.db('companies').where({ vendor_id: owner.vendorId }).update({ timezone })
        await expiring(expiresAt)
        assert.deepEqual(await notice(Date.parse(eight) - 1), [])
        assert.deepEqual(await notice(eight), [['Sync']])
        for (const hours of [1, 15])
          assert.deepEqual(await notice(Date.parse(eight) + hours * HOUR_MS), [['Sync']])
      })

    it('comes until midnight two days later if nothing ran before, across a change of clocks', async () => {
      await expiring('2026-04-12T22:00:00Z')
      assert.deepEqual(await notice('2026-03-16T22:59:00Z'), [['Sync']])
    })

    it('comes on no other day', async () => {
      await expiring('2026-03-14T22:59:59Z')
      const mailed: number[] = []
      for (let day = 34; day > -6; day -= 1) {
        const before = (await details('clients_expire')).length
        const { length } = await notice(Date.parse('2026-03-14T12:00:00Z') - day * DAY_MS)
        if (length > before) mailed.push(day)
      }
      assert.deepEqual(mailed, [30, 7, 1])
    })

    it('comes after a day or two on which nothing ran, but not about what had not been created by then', async () => {
      await expiring('2026-01-21T12:00:00Z', owner, 'Yesterday')
      await expiring('2026-02-12T12:00:00Z', owner, 'Two days ago', '2026-01-13T12:00:00Z')
      await expiring('2026-01-19T12:00:00Z', owner, 'Three days ago')
      await expiring('2026-02-12T12:00:00Z', owner, 'New', '2026-01-13T23:00:00Z')
      const expected = [['Two days ago'], ['Yesterday']]
      for (const at of ['2026-01-15T12:00:00Z', '2026-01-15T22:00:00Z'])
        assert.deepEqual((await notice(at)).sort(), expected)
    })

    it('names all of a company’s in one mail, the first to expire first, and no one else’s', async () => {
      const other = await api.createOwner()
      await expiring('2026-02-13T22:59:59Z', owner, 'In 30 days')
      await expiring('2026-01-21T12:00:00Z', owner, 'In 7 days')
      await expiring('2026-01-18T12:00:00Z', owner, 'In 4 days')
      await expiring('2026-01-15T12:00:00Z', owner, 'Tomorrow')
      await expiring('2026-01-15T12:00:00Z', other, 'Theirs')
      const { clientId } = await expiring('2026-01-15T12:00:00Z', owner, 'Revoked')
      await revoke(clientId)
      assert.deepEqual(await notice('2026-01-14T12:00:00Z'), [['Tomorrow', 'In 7 days', 'In 30 days']])
      assert.deepEqual(await notice('2026-01-14T12:00:00Z', other), [['Theirs']])
    })

    it('leaves out a client that no longer gets tokens because its Active replacement does', async () => {
      async function replaced(name: string) {
        const old = await expiring('2026-01-15T12:00:00Z', owner, name)
        const createdAt = new Date('2025-02-01T00:00:00Z')
        const next = await owner.createClient({ replaces: old.clientId, createdAt })
        await use(old.clientId, '2026-01-10T12:00:00Z')
        await use(next.clientId, '2026-01-11T12:00:00Z')
        return { old, next }
      }
      const [usedAgain, withdrawn] = [await replaced('Used again'), await replaced('Withdrawn')]
      assert.deepEqual(await notice('2026-01-14T12:00:00Z'), [])
      await use(usedAgain.old.clientId, '2026-01-12T12:00:00Z')
      await revoke(withdrawn.next.clientId)
      const [names] = await notice('2026-01-14T12:00:00Z')
      assert.deepEqual(names.sort(), ['Used again', 'Withdrawn'])
    })

    it('comes to each of more companies than are read at a time', async () => {
      await fillPages('ven_0', new Date('2026-01-15T12:00:00Z'))
      await expiring('2026-01-15T12:00:00Z')
      assert.deepEqual(await notice('2026-01-14T12:00:00Z'), [['Sync']])
    })

    it('is written once by two processes, and to no one of an erased company', async () => {
      const erased = await api.createOwner()
      await expiring('2026-01-15T12:00:00Z')
      await expiring('2026-01-15T12:00:00Z', erased)
      await api.db('companies').where({ vendor_id: erased.vendorId }).update({ erased_at: new Date() })
      api.clock.set('2026-01-14T12:00:00Z')
      const first = await api.db.transaction()
      const topic = `${owner.vendorId} 2026-01-14`
      const mail = { kind: 'clients_expire', topic, user_id: owner.userId, detail: {}, is_urgent: false }
      await first('mails').insert(mail)
      const both = Promise.all([run(noticeExpiringClients), run(noticeExpiringClients)])
      await untilBlocked(api.db, 2)
      await first('mails').where({ topic }).delete()
      await first.commit()
      await both
      assert.equal((await details('clients_expire')).length, 1)
      assert.deepEqual(await mailsTo(erased), [])
    })
  })

  describe('about a replaced client that is quiet', () => {
    let old: string
    let next: string
    beforeEach(async () => {
      api.clock.set('2026-03-01T00:00:00Z')
      const createdAt = new Date(api.clock.now())
      ;({ clientId: old } = await owner.createClient({ name: 'Old', createdAt }))
      ;({ clientId: next } = await owner.createClient({ name: 'New', createdAt, replaces: old }))
    })
    const notice = async (at: string) => {
      api.clock.set(at)
      await run(noticeQuietClients)
      return details('replaced_client_quiet')
    }
    const useBoth = async () => {
      await use(old, '2026-03-02T10:00:00Z')
      await use(old, '2026-03-05T11:00:00Z')
      await use(next, '2026-03-06T09:00:00Z')
    }

    it('comes after 7 days, once, with what was seen of both', async () => {
      await useBoth()
      assert.deepEqual(await notice('2026-03-12T10:59:59.999Z'), [])
      const expected = {
        client: { clientId: old, name: 'Old', lastTokenAt: '2026-03-05T11:00:00.000Z' },
        replacement: { clientId: next, name: 'New', lastTokenAt: '2026-03-06T09:00:00.000Z' },
        longestQuietHours: 73,
        seenSince: '2026-03-01T00:00:00.000Z',
      }
      for (const at of ['2026-03-12T11:00:00Z', '2026-03-12T12:00:00Z', '2026-06-12T12:00:00Z'])
        assert.deepEqual(await notice(at), [expected], at)
      const late = await api.createPerson({ vendorId: owner.vendorId, role: 'admin' })
      await run(noticeQuietClients)
      assert.deepEqual(await mailsTo(late), [])
    })

    it('comes to each of more companies than are read at a time', async () => {
      await useBoth()
      await fillPages('ven_000', new Date('2027-01-01'))
      await api.db.raw(
        `with used as (update client_usage set first_used_at = '2026-03-05 12:00Z', last_used_at = '2026-03-05 12:00Z'
           where last_used_at = '2027-01-01 00:00Z' returning client_id),
         replacements as (insert into oauth_clients
             (client_id, vendor_id, name, scopes, secret_hash, created_by, replaces)
           select 'cli_' || left(md5(client_id), 22), vendor_id, name, scopes, sha256(client_id::bytea), created_by,
             client_id from used join oauth_clients using (client_id) returning client_id)
         insert into client_usage select client_id, '2026-03-06', '2026-03-06' from replacements`,
      )
      assert.equal((await notice('2026-03-12T12:00:00Z')).length, 1)
    })

    it('comes from 08:00 of the company’s day', async () => {
      await use(old, '2026-03-22T00:30:00Z')
      await use(next, '2026-03-22T01:00:00Z')
      assert.deepEqual(await notice('2026-03-29T05:59:59.999Z'), [])
      assert.partialDeepStrictEqual(await notice('2026-03-29T06:00:00Z'), [{ longestQuietHours: null }])
    })

    const expire = () =>
      api.db.raw(
        `alter table oauth_clients disable trigger user;
         update oauth_clients set expires_at = '2026-03-10T00:00:00Z' where client_id = '${old}';
         alter table oauth_clients enable trigger user`,
      )
    for (const [title, change] of [
      ['was used again', () => use(old, '2026-03-06T11:00:00Z')],
      ['is Revoked', () => revoke(old)],
      ['has a replacement that is Revoked', () => revoke(next)],
      ['has expired', expire],
    ] as const)
      it(`does not come about one that ${title}`, async () => {
        await useBoth()
        await change()
        assert.deepEqual(await notice('2026-03-12T12:00:00Z'), [])
      })

    it('does not come before the replacement was used', async () => {
      await use(old, '2026-03-02T10:00:00Z')
      assert.deepEqual(await notice('2026-03-12T12:00:00Z'), [])
    })

    it('counts the days from the time until which tokens may be missing', async () => {
      await useBoth()
      await loseUses(new Date('2026-03-12T08:00:00Z'))
      assert.equal((await notice('2026-03-19T07:59:59.999Z')).length, 0)
      assert.equal((await notice('2026-03-19T08:00:00Z')).length, 1)
    })
  })

  describe('about keys of an issuer that cannot be fetched', () => {
    const issuer = 'https://idp.acme.example/a'
    beforeEach(() => api.db('workload_issuers').delete())
    const trust = async (person: TestPerson, name = 'Deploy', from = issuer) => {
      const workload = { issuer: from, claims: { sub: 'a' }, platform: null }
      const client = await person.createClient({ name, authenticatesBy: { workload } })
      await api.db.raw(
        `insert into workload_issuers (vendor_id, issuer, keys_from, keys, keys_as_of, attempted_at, failure)
         values (?, ?, 'issuer', '[{}]', ?, now(), 'it must answer') on conflict do nothing`,
        [person.vendorId, from, new Date(api.clock.now())],
      )
      return client
    }
    const notice = async (person = owner) => {
      await run(noticeFailingIssuers)
      return details('issuer_keys_unreachable', person, person === owner ? [admin] : [])
    }

    it('comes after 6 hours to each company that trusts it, once until they can be fetched', async () => {
      const others = [await api.createOwner(), await api.createOwner()] as const
      const pasted = await api.createOwner()
      await trust(pasted)
      await api.db('workload_issuers').update({ keys_from: 'pasted' })
      const since = isoNow()
      const { clientId } = await trust(owner)
      const second = await trust(owner, 'Nightly')
      await trust(others[0])
      await revoke((await trust(others[1])).clientId)
      api.clock.advance(6 * HOUR_MS - 1)
      assert.deepEqual(await notice(), [])
      api.clock.advance(1)
      const nightly = { clientId: second.clientId, name: 'Nightly' }
      assert.deepEqual(await notice(), [{ issuer, since, clients: [{ clientId, name: 'Deploy' }, nightly] }])
      assert.equal((await notice(others[0])).length, 1)
      for (const none of [others[1], pasted]) assert.equal((await notice(none)).length, 0)
      api.clock.advance(DAY_MS)
      assert.equal((await notice()).length, 1)

      await api.db('workload_issuers').update({ keys_as_of: new Date(api.clock.now()), failure: null })
      api.clock.advance(7 * HOUR_MS)
      assert.equal((await notice()).length, 1)
      await api.db('workload_issuers').update({ failure: 'it must answer' })
      assert.equal((await notice()).length, 2)
      await trust(owner, 'Third', `${issuer}b`)
      const before = new Date(api.clock.now())
      const all = await listFailingIssuers(api.db, { before, after: undefined, limit: 9 })
      assert.equal(all.length, 3)
      for (const [at, after] of all.entries()) {
        const next = await listFailingIssuers(api.db, { before, after, limit: 1 })
        assert.deepEqual(next, all.slice(at + 1, at + 2))
      }
    })
  })
})
