import assert from 'node:assert/strict'
import { erasePerson } from '../../infra/admin/persons.ts'
import { runAdmin, succeeded } from '../support/admin.ts'
import { sharedApi, TEST_PASSWORD, type TestPerson } from '../support/api.ts'
import { forBlock } from '../support/block.ts'
import { testOperator } from '../support/operator.ts'
import { placesHolding, readStores } from '../support/read-stores.ts'
import { connectedDatabase } from '../support/stores.ts'

const NAME = 'Unmistakable'
const ADDRESS = 'kim@unmistakable.example'
const PASSWORD = 'the first long password of a person'

describe('admin person', () => {
  const api = sharedApi()
  const owner = forBlock(() => api.createOwner())
  let kimId: string
  let kimToken: string

  const admin = (...args: string[]) =>
    runAdmin(args, { env: { DATABASE_URL: api.database.operatorUrl, REDIS_URL: api.redis.url('api') } })
  const everywhere = async (text: string) => placesHolding(await readStores(api.db, api.redis), text)

  const invite = (by: TestPerson) => by.invite(ADDRESS, { name: `Kim ${NAME}`, role: 'member' })
  async function join(token: string, password: string): Promise<{ userId: string; sessionToken: string }> {
    const { status, json, text } = await api.request('POST', '/v1/invitation', { body: { token, password } })
    assert.equal(status, 201, text)
    return { userId: json.user.userId, sessionToken: json.sessionToken }
  }
  const sessionStatus = async (token: string) => (await api.request('GET', '/v1/session', { token })).status

  /** By the API, as a person does: in the tables of people, sessions, clients, callbacks and the activity. */
  before(async () => {
    // More entries than one statement looks at.
    await api.db.raw(
      `insert into activity (operator, action, subject) select 'Eve', 'x', 's' from generate_series(1, 5000)`,
    )
    const kim = await join(await invite(owner), PASSWORD)
    ;({ userId: kimId, sessionToken: kimToken } = kim)
    assert.equal((await owner.request('PATCH', `people/${kimId}`, { body: { role: 'admin' } })).status, 200)
    const created = await owner.request('POST', 'oauth-clients', {
      token: kimToken,
      body: { name: 'A shop', scopes: ['analytics:read'] },
      headers: { 'Idempotency-Key': 'a-key-of-kim' },
    })
    assert.equal(created.status, 201)
    await api.db('callback_destinations').insert({
      vendor_id: owner.vendorId,
      callback_url: 'https://receiver.example/',
      verified: true,
      updated_at: new Date(),
      updated_by: kimId,
    })
    await api.db('openid_identities').insert({ issuer: 'https://login.test', subject: NAME, user_id: kimId })
    for (const password of [PASSWORD, 'a wrong password of that address'])
      await api.request('POST', '/v1/session', { body: { email: ADDRESS, password } })

    const change = { currentPassword: PASSWORD, newPassword: `${PASSWORD}, changed` }
    const changed = await api.request('PUT', '/v1/session/password', { token: kimToken, body: change })
    assert.equal(changed.status, 204)

    // Another company's account of the address, which has ended, and an invitation that is still out.
    const other = await api.createOwner()
    const { userId } = await join(await invite(other), TEST_PASSWORD)
    await api.db('openid_identities').where({ user_id: userId }).delete()
    assert.equal((await other.request('DELETE', `people/${userId}`)).status, 204)
    await invite(other)
  })

  describe('export', () => {
    it('prints what is stored of a person, nothing that opens anything, and is recorded', async () => {
      const sessions = api.db('sessions').where({ user_id: kimId })
      const [session] = await sessions.update({ last_seen_at: new Date() }).returning('*')
      const { stdout } = await succeeded(admin('person', 'export', ADDRESS.toUpperCase()))
      const { accounts, invitations, activity } = JSON.parse(stdout)
      const [kim] = accounts.filter(({ userId }: { userId: string }) => userId === kimId)
      const [invitation] = await api.db('invitations').where({ user_id: invitations[0].userId })
      for (const [shown, row] of [
        [kim.sessions[0], session],
        [invitations[0], invitation],
      ])
        for (const [name, value] of Object.entries(shown)) {
          const column = name.replace(/[A-Z]/g, '_$&').toLowerCase()
          assert.equal(value, JSON.parse(JSON.stringify(row))[column], name)
        }
      assert.ok(kim.signInPlaces.length > 0)
      const [[identity], [client], [key]] = [kim.openidIdentities, kim.clientsCreated, kim.idempotencyKeys]
      const found = [kim.email, identity.subject, client.name, key.key, kim.mails[0].kind]
      assert.deepEqual(found, [ADDRESS, NAME, 'A shop', 'a-key-of-kim', 'password_changed'])
      const counts = [kim.memberships, kim.mails, kim.callbacksSaved, invitations].map(({ length }) => length)
      assert.deepEqual([...counts, kim.clientsRevoked.length], [1, 1, 1, 1, 0])
      const actions = activity.map(
        (entry: Record<string, unknown>) => `${entry.action} ${entry.byThisPerson}`,
      )
      for (const action of ['person.invited false', 'person.joined true', 'client.created true'])
        assert.ok(actions.includes(action), action)
      const ids = [...accounts, ...invitations].map(({ userId }: { userId: string }) => userId)
      const ofOthers = activity.filter(({ subject }: { subject: string }) => !ids.includes(subject))
      assert.ok(ofOthers.length > 0)
      for (const entry of ofOthers) assert.ok(!('detail' in entry), entry.action)
      const { rows } = await api.db.raw(
        `select password_hash as secret from users union all select encode(token_hash, 'hex') from sessions
         union all select encode(token_hash, 'hex') from invitation_links union all select substr(address, 9)
         from sign_in_addresses where address like 'browser:%'`,
      )
      assert.ok(rows.length > 3)
      for (const { secret } of rows) assert.ok(!stdout.includes(secret), secret)
      assert.ok(!stdout.includes(owner.email) && !stdout.includes(owner.userId))
      const acts = api.db('activity').where({ action: 'person.exported', subject: kimId })
      assert.deepEqual(await acts.pluck('vendor_id'), [null])
    })
  })

  describe('erase', () => {
    it('ends the session at once when it is interrupted, and leaves no name after another run', async () => {
      assert.equal(await sessionStatus(kimToken), 200)
      assert.ok((await everywhere(NAME)).includes('activity'))
      await api.db.raw(`insert into password_resets select sha256('a'), ?, now(), 'infinity'`, [kimId])
      // As if killed when the activity is about to be looked through.
      const dying = new Proxy(api.db, {
        get: (db, property) =>
          property === 'raw'
            ? (sql: string, ...rest: [never]) =>
                sql.includes('erase_from_activity') ? assert.fail('killed') : db.raw(sql, ...rest)
            : Reflect.get(db, property),
      })
      await assert.rejects(erasePerson(dying, { address: ADDRESS, by: testOperator() }), /killed/)
      assert.equal(await sessionStatus(kimToken), 401)
      const body = { email: ADDRESS, password: PASSWORD }
      assert.equal((await api.request('POST', '/v1/session', { body })).status, 401)
      assert.deepEqual(await everywhere(NAME), ['activity'])
      const tables: string[] = await api
        .db('information_schema.columns')
        .where({ column_name: 'user_id', table_schema: 'public' })
        .pluck('table_name')
      const left = tables.map(
        async (name) => (await api.db(name).where({ user_id: kimId })).length > 0 && name,
      )
      assert.deepEqual((await Promise.all(left)).filter(Boolean).sort(), ['activity', 'users'])

      await succeeded(admin('person', 'erase', ADDRESS, '--yes'))
      assert.deepEqual(await everywhere(NAME), [])
    })

    it('keeps what happened, the company’s clients and the fact of the erasure', async () => {
      const entries = await api.db('activity').where({ vendor_id: owner.vendorId }).orderBy('entry_id')
      const kinds = entries.filter(({ subject }) => subject === kimId).map(({ action }) => action)
      assert.deepEqual(kinds.slice(0, 3), ['person.invited', 'person.joined', 'person.changed'])
      assert.equal(kinds.at(-1), 'person.erased')
      const shown = await owner.request('GET', 'activity')
      const created = shown.json.entries.find(({ action }: { action: string }) => action === 'client.created')
      assert.equal(created.by.name, 'Erased person')
      assert.equal((await owner.request('GET', 'oauth-clients')).json.clients[0].status, 'Active')
    })

    it('finds an erased person again by the user id, as after a restore', async () => {
      await api.db('users').where({ user_id: kimId }).update({ name: NAME, email: ADDRESS })
      assert.equal((await admin('person', 'erase', kimId, '--yes')).code, 0)
      assert.deepEqual(await everywhere(NAME), [])
    })

    it('frees the address for a new account', async () => {
      const { sessionToken } = await join(await invite(owner), 'the second long password of a person')
      assert.equal(await sessionStatus(sessionToken), 200)
    })

    it('takes an address that begins like the id of a company for an address', async () => {
      const { userId } = await api.createPerson({ vendorId: owner.vendorId, role: 'member' })
      const email = 'ven_kim@people.example'
      await api.db('users').where({ user_id: userId }).update({ email })
      const { stdout } = await succeeded(admin('person', 'erase', email, '--yes'))
      assert.match(stdout, new RegExp(`^Erased: ${userId}\\. `))
    })

    it('erases in one company alone what is named with its id', async () => {
      const { sessionToken } = await join(await invite(await api.createOwner()), TEST_PASSWORD)
      await succeeded(admin('person', 'erase', `${owner.vendorId}:${ADDRESS}`, '--yes'))
      assert.equal(await sessionStatus(sessionToken), 200)
      assert.ok(!(await owner.request('GET', 'people')).text.includes(ADDRESS))
    })

    it('lets an operator erase no one in the database without an entry that says so', async () => {
      const { userId } = await api.createPerson({ vendorId: owner.vendorId, role: 'member' })
      await using role = connectedDatabase(api.database.operatorUrl)
      const erasing = async () => role.raw('select erase_person(?, ?)', [userId, '$argon2id$'])
      await assert.rejects(erasing, /no entry of the activity says/)
      const { rows } = await role.raw('select sum(erased) as erased from erase_from_activity(0, 100000)')
      assert.equal(Number(rows[0].erased), 0)
    })
  })
})
