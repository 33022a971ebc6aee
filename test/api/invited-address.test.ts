import assert from 'node:assert/strict'
import { addIdentity } from '../../apps/api/accounts/openid-identities.ts'
import { sharedApi, startApi, TEST_PASSWORD, type TestPerson } from '../support/api.ts'
import { forEachTest } from '../support/block.ts'
import { assertProblem } from '../support/problem.ts'
import { untilBlocked } from '../support/stores.ts'

const OTHER_PASSWORD = 'wrong donkey capacitor nail'

/** An invitation proves nothing about an address: whoever invites it can open the link. */
describe('an address that two companies invite', () => {
  const api = sharedApi({ env: { RATE_SIGN_IN_PER_ADDRESS: '10000/60' } })
  const acme = forEachTest(() => api.createOwner())
  const globex = forEachTest(() => api.createOwner())
  let email: string
  beforeEach(() => {
    email = `${crypto.randomUUID()}@people.example`
  })

  const invite = (owner: TestPerson, to = email) => owner.invite(to)
  const accept = (token: string, password: string, more = {}) =>
    api.request('POST', '/v1/invitation', { body: { token, password, ...more } })
  const signIn = (password: string, as = email) =>
    api.request('POST', '/v1/session', { body: { email: as, password } })
  const isLive = async (token: string) => (await api.request('GET', '/v1/session', { token })).status === 200
  const remove = (owner: TestPerson, userId: string) => owner.request('DELETE', `people/${userId}`)
  const companiesOf = ({ json }: { json: { companies: { vendorId: string }[] } }) =>
    json.companies.map(({ vendorId }) => vendorId)
  const claimsSeenBy = async (owner: TestPerson) =>
    (await owner.request('GET', 'activity?action=address.claimed')).json.entries

  describe('when the first invited it and accepted in place of the person', () => {
    let hijacker: { userId: string; token: string }
    beforeEach(async () => {
      const { json } = await accept(await invite(acme), TEST_PASSWORD)
      hijacker = { userId: json.user.userId, token: json.sessionToken }
    })

    it('leaves the address free for the person, in an account that gives the first company nothing', async () => {
      const claimed = await accept(await invite(globex), OTHER_PASSWORD)
      assert.deepEqual([claimed.status, companiesOf(claimed)], [201, [globex.vendorId]])
      assert.notEqual(claimed.json.user.userId, hijacker.userId)
      assert.deepEqual(companiesOf(await signIn(OTHER_PASSWORD)), [globex.vendorId])
    })

    it('ends the sessions that the first has, and gives it no way into the second company', async () => {
      await accept(await invite(globex), OTHER_PASSWORD)
      assert.equal(await isLive(hijacker.token), false)
      const again = await signIn(TEST_PASSWORD)
      assert.deepEqual(companiesOf(again), [acme.vendorId])
      const token = again.json.sessionToken
      assertProblem(await api.request('GET', `/v1/vendor/${globex.vendorId}/people`, { token }), 'forbidden')
      const { sessions } = (await api.request('GET', '/v1/sessions', { token })).json
      assert.equal(sessions.length, 1, 'the sessions of the claimed account are listed')
    })

    it('records it once in the activity of the first company, which does not learn of the second', async () => {
      const { json } = await accept(await invite(globex), OTHER_PASSWORD)
      const [entry, ...more] = await claimsSeenBy(acme)
      const { subject, detail, by } = entry
      assert.deepEqual([subject, detail, more], [hijacker.userId, { name: 'Kim R.', email }, []])
      assert.deepEqual(by, { userId: null, name: 'service' })
      for (const secret of [globex.vendorId, json.user.userId, globex.userId])
        assert.ok(!JSON.stringify(entry).includes(secret))
      assert.deepEqual(await claimsSeenBy(globex), [])
    })

    it('shares a salt, so that signing in takes as long as with one account', async () => {
      await accept(await invite(globex), OTHER_PASSWORD)
      const hashes = (await api.db('users').where({ email })).map(({ password_hash }) => password_hash)
      const salts = new Set(hashes.map((hash) => hash.split('$')[4]))
      assert.deepEqual([hashes.length, new Set(hashes).size, salts.size], [2, 2, 1])
    })
  })

  describe('when a malicious company invites a living person of another', () => {
    const victim = globex
    const attack = async (password = OTHER_PASSWORD) => accept(await invite(acme, victim.email), password)

    it('gives the attacker their own company alone, and leaves the person password, companies and role', async () => {
      assert.deepEqual(companiesOf(await attack()), [acme.vendorId])
      assert.deepEqual(companiesOf(await signIn(OTHER_PASSWORD, victim.email)), [acme.vendorId])
      const { user, companies } = (await signIn(TEST_PASSWORD, victim.email)).json
      assert.deepEqual([user.userId, companies.length], [victim.userId, 1])
      assert.partialDeepStrictEqual(companies, [{ vendorId: globex.vendorId, role: 'owner' }])
    })

    it('keeps the attacker from signing the person out repeatedly and from filling their company’s activity', async () => {
      const first = await attack()
      assert.equal(await isLive(victim.sessionToken), false)
      const token = (await signIn(TEST_PASSWORD, victim.email)).json.sessionToken
      assert.equal((await remove(acme, first.json.user.userId)).status, 204)
      assert.equal((await attack()).status, 201)
      assert.equal(await isLive(token), true)
      globex.sessionToken = token
      assert.equal((await claimsSeenBy(globex)).length, 1)
    })

    it('creates one account, and records one claim, when two companies invite the person at once', async () => {
      const other = await api.createOwner()
      const tokens = [await invite(acme, victim.email), await invite(other, victim.email)]
      const ending = await api.db.transaction()
      await ending.raw('select from sessions where user_id = ? for update', [victim.userId])
      const answers = tokens.map((token) => accept(token, OTHER_PASSWORD))
      await untilBlocked(api.db, 2)
      await ending.commit()
      const statuses = (await Promise.all(answers)).map(({ status }) => status)
      assert.deepEqual(statuses.toSorted(), [201, 503])
      const again = await accept(tokens[statuses.indexOf(503)] ?? '', OTHER_PASSWORD)
      assert.deepEqual(companiesOf(again).sort(), [acme.vendorId, other.vendorId].sort())
      globex.sessionToken = (await signIn(TEST_PASSWORD, victim.email)).json.sessionToken
      assert.equal((await claimsSeenBy(globex)).length, 1)
    })

    it('does not touch an account that an OpenID provider proved', async () => {
      const { userId } = victim
      await addIdentity(api.db, { issuer: 'https://id.example', subject: userId, userId })
      assert.equal((await attack()).status, 201)
      assert.equal(await isLive(victim.sessionToken), true)
      assert.deepEqual(await claimsSeenBy(globex), [])
    })

    it('answers alike whether or not the address has an account', async () => {
      const shown = ({ status, json }: Awaited<ReturnType<typeof accept>>) => ({
        status,
        members: Object.keys(json),
        companies: json.companies?.length,
        errors: json.errors,
      })
      for (const [password, more] of [
        ['x', {}],
        ['x', { existingAccount: true }],
        [OTHER_PASSWORD, { existingAccount: true }],
        [OTHER_PASSWORD, {}],
      ] as const) {
        const known = await accept(await invite(acme, victim.email), password, more)
        assert.deepEqual(shown(known), shown(await accept(await invite(acme), password, more)))
      }
    })

    for (const limit of ['RATE_SIGN_IN_PER_ACCOUNT', 'RATE_SIGN_IN_STRANGERS_PER_ACCOUNT'])
      it(`limits guesses at the password of an account, and of an address without one, alike: ${limit}`, async () => {
        await using limited = await startApi({ beside: api, env: { [limit]: '2/60' } })
        for (const to of [victim.email, email]) {
          const token = await invite(acme, to)
          for (const [index, password] of [OTHER_PASSWORD, OTHER_PASSWORD, TEST_PASSWORD].entries()) {
            const body = { token, password, existingAccount: true }
            const { status } = await limited.request('POST', '/v1/invitation', { body })
            assert.equal(status, index < 2 ? 401 : 429)
          }
        }
      })
  })

  it('joins with the account whose password is sent', async () => {
    const first = await accept(await invite(acme), TEST_PASSWORD)
    const second = await accept(await invite(globex), TEST_PASSWORD, { existingAccount: true })
    assert.equal(second.json.user.userId, first.json.user.userId)
    assert.deepEqual(companiesOf(second).sort(), [acme.vendorId, globex.vendorId].sort())
    assert.equal(await isLive(first.json.sessionToken), true)
    assert.deepEqual(await claimsSeenBy(acme), [])
  })

  it('never makes an address two people of one company', async () => {
    const token = await invite(acme)
    const added = await api.createPerson({ vendorId: acme.vendorId, role: 'member' })
    await api.db('users').where({ user_id: added.userId }).update({ email })
    assertProblem(await accept(token, OTHER_PASSWORD), 'invalid_credentials')
    assert.equal((await accept(token, TEST_PASSWORD)).json.user.userId, added.userId)
  })

  describe('whose account leaves its last company', () => {
    it('frees an address whose account leaves its last company, and keeps its name in the activity', async () => {
      const { json } = await accept(await invite(acme), TEST_PASSWORD)
      const { userId } = json.user
      assert.equal((await remove(acme, userId)).status, 204)
      assert.equal(await isLive(json.sessionToken), false)
      assertProblem(await signIn(TEST_PASSWORD), 'invalid_credentials')
      const [row] = await api.db('users').where({ user_id: userId })
      assert.deepEqual([row.email, row.name], [null, 'Kim R.'])
      assert.deepEqual(await api.db('sign_in_addresses').where({ user_id: userId }), [])
      assert.notEqual((await accept(await invite(acme), OTHER_PASSWORD)).json.user.userId, userId)
      const { entries } = (await acme.request('GET', `activity?userId=${userId}`)).json
      assert.equal(entries[0].by.name, 'Kim R.')
    })

    it('keeps an account while it belongs to another company', async () => {
      const { json } = await accept(await invite(acme), TEST_PASSWORD)
      await accept(await invite(globex), TEST_PASSWORD)
      assert.equal((await remove(acme, json.user.userId)).status, 204)
      assert.equal(await isLive(json.sessionToken), true)
      assert.deepEqual(companiesOf(await signIn(TEST_PASSWORD)), [globex.vendorId])
    })

    it('lets an account either join another company or end, when both happen at once', async () => {
      const { json } = await accept(await invite(acme), TEST_PASSWORD)
      const token = await invite(globex)
      const [removed, joined] = await Promise.all([
        remove(acme, json.user.userId),
        accept(token, TEST_PASSWORD, { existingAccount: true }),
      ])
      assert.equal(removed.status, 204)
      const memberships = await api.db('memberships').where({ user_id: json.user.userId })
      const [row] = await api.db('users').where({ user_id: json.user.userId })
      assert.equal(row.email === null, joined.status !== 201)
      assert.equal(memberships.length, joined.status === 201 ? 1 : 0)
    })

    it('keeps an account linked to an OpenID provider, without its sessions', async () => {
      const { json } = await accept(await invite(acme), TEST_PASSWORD)
      const { userId } = json.user
      await addIdentity(api.db, { issuer: 'https://id.example', subject: userId, userId })
      assert.equal((await remove(acme, userId)).status, 204)
      assert.equal(await isLive(json.sessionToken), false)
      assert.equal((await api.db('users').where({ user_id: userId }).first()).email, email)
    })
  })
})
