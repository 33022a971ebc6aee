import assert from 'node:assert/strict'
import { addIdentity } from '../../apps/api/accounts/openid-identities.ts'
import { hashPassword } from '../../apps/api/accounts/passwords.ts'
import type { OutgoingMail } from '../../apps/api/mail/outbox.ts'
import { createInvitee } from '../../apps/api/people/invite-person.ts'
import { resetPassword } from '../../apps/api/sessions/change-password.ts'
import { erasePerson } from '../../infra/admin/persons.ts'
import { freshOwner, readPages, sharedApi, startApi, TEST_PASSWORD, type TestPerson } from '../support/api.ts'
import { afterwards, forBlock, forEachTest } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'
import { testOperator } from '../support/operator.ts'
import { assertInvalid, assertProblem } from '../support/problem.ts'
import { startSmtp } from '../support/smtp.ts'

const HOUR_MS = 3_600_000

describe('/v1/vendor/{vendor_id}/people', () => {
  const api = sharedApi()
  const owner = freshOwner(api)
  const admin = forEachTest(() => api.createPerson({ vendorId: owner.vendorId, role: 'admin' }))

  const call = (method: string, path = '', body?: unknown, person: TestPerson = owner) =>
    person.request(method, `people${path}`, body === undefined ? {} : { body })
  const invite = (more: object = {}, person: TestPerson = owner) =>
    call('POST', '', { name: 'Kim R.', email: 'Kim@People.example', role: 'admin', ...more }, person)
  /** Another company invites this address. */
  const inviteElsewhere = async (email: string) => invite({ email, role: 'member' }, await api.createOwner())
  const activity = async () =>
    (await owner.request('GET', 'activity')).json.entries.map(
      ({ entryId, at, ...entry }: Record<string, unknown>) => entry,
    )
  const tokenOf = ({ json }: { json: { invitationUrl: string } }) => json.invitationUrl.split('#')[1] ?? ''
  const accept = (token: string, password: string, more = {}) =>
    api.request('POST', '/v1/invitation', { body: { token, password, ...more } })
  /** Emails are unique in the whole installation. */
  const newEmail = () => `${crypto.randomUUID()}@people.example`

  describe('GET', () => {
    it('goes through all pages without a double or a gap, also past the longest names', async () => {
      const name = '😀'.repeat(200)
      for (let n = 0; n < 3; n += 1) {
        await api.createPerson({ vendorId: owner.vendorId, role: 'member', name })
        await invite({ email: newEmail(), name })
      }
      const people = await readPages<TestPerson>((search) => call('GET', search), 'people', 'limit=2')
      assert.deepEqual([people.length, new Set(people.map(({ userId }) => userId)).size], [8, 8])
    })

    it('lists an invitation for 30 days after it expired, so that it can be made again', async () => {
      const { userId } = (await invite({ email: newEmail() })).json
      const listed = async () =>
        (await call('GET')).json.people.some((one: { userId: string }) => one.userId === userId)
      assert.equal(await listed(), true)
      api.clock.advance((72 + 30 * 24) * HOUR_MS - 1)
      owner.sessionToken = await api.createSession(owner.userId)
      assert.equal(await listed(), true)
      api.clock.advance(1)
      assert.equal(await listed(), false)
    })
  })

  describe('POST', () => {
    it('reveals no account that the person has elsewhere, as its preview does', async () => {
      const known = await api.createPerson()
      const body = { token: tokenOf(await invite({ email: known.email })) }
      const { json } = await api.request('POST', '/v1/invitation/preview', { body })
      assert.deepEqual({ name: json.name, email: json.email }, { name: 'Kim R.', email: known.email })
      assert.ok(!`${(await call('GET')).text} ${JSON.stringify(json)}`.includes(known.userId))
    })

    it('stops at 200 people and invitations', async () => {
      await api.db.raw(
        `insert into invitations select 'usr_' || md5(n || ?), ?, n || '@many.example', 'x', 'member', ?, now(), 'infinity' from generate_series(1, 198) n`,
        [owner.vendorId, owner.vendorId, owner.userId],
      )
      assertProblem(await invite({ email: newEmail() }), 'people_limit_reached')
      assert.equal((await invite({ email: '7@many.example' })).status, 201)
    })
  })

  describe('PATCH', () => {
    const change = (userId: string, body: object, person = owner) => call('PATCH', `/${userId}`, body, person)

    it('hands nothing over in a session that is older than 15 minutes, until the owner signs in again', async () => {
      api.clock.advance(15 * 60_000)
      assert.equal((await change(admin.userId, { role: 'member' })).status, 200)
      const before = owner.sessionToken
      api.clock.advance(1)
      for (const status of ['active', undefined])
        assertProblem(await change(admin.userId, { role: 'owner', status }), 'recent_sign_in_required')
      const body = { email: owner.email, password: TEST_PASSWORD }
      owner.sessionToken = (await api.request('POST', '/v1/session', { body })).json.sessionToken
      const old = { ...owner, sessionToken: before }
      for (const moved_minutes of [0, -40, 40]) {
        api.clock.advance(moved_minutes * 60_000)
        assertProblem(await change(admin.userId, { role: 'owner' }, old), 'recent_sign_in_required')
      }
      assert.equal((await change(admin.userId, { role: 'owner' })).status, 200)
    })

    it('leaves one owner when several are made at once', async () => {
      const others = [admin, await api.createPerson({ vendorId: owner.vendorId, role: 'admin' })]
      const answers = await Promise.all(others.map(({ userId }) => change(userId, { role: 'owner' })))
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 403])
    })
  })

  describe('DELETE', () => {
    it('ends a link to the person that is still out, and leaves the invitation of another company alone', async () => {
      const known = await api.createPerson()
      const elsewhere = await inviteElsewhere(known.email)
      const here = tokenOf(await invite({ email: known.email }))
      assertProblem(await call('DELETE', `/${elsewhere.json.userId}`), 'not_found')
      await api.db('memberships').insert({ vendor_id: owner.vendorId, user_id: known.userId, role: 'member' })
      assert.equal((await call('DELETE', `/${known.userId}`)).status, 204)
      assertProblem(await accept(here, TEST_PASSWORD), 'invitation_not_valid')
      assert.equal((await accept(tokenOf(elsewhere), TEST_PASSWORD)).status, 201)
    })
  })

  describe('POST /v1/invitation', () => {
    it('records the role that the person has, if an operator added them before', async () => {
      const known = await api.createPerson()
      const token = tokenOf(await invite({ email: known.email, role: 'admin' }))
      await api.db('memberships').insert({ vendor_id: owner.vendorId, user_id: known.userId, role: 'member' })
      assert.equal((await accept(token, TEST_PASSWORD)).json.companies[0].role, 'member')
      const [{ action, detail }] = await activity()
      assert.deepEqual([action, detail.role], ['person.joined', 'member'])
    })

    it('lets no one join whose password is reset at that moment', async () => {
      const { userId, email } = await api.createPerson()
      const token = tokenOf(await invite({ email }))
      const passwordHash = await hashPassword('another password altogether')
      const { running } = await api.db.transaction(async (transaction) => {
        await resetPassword(transaction, { userId, passwordHash })
        const accepting = accept(token, TEST_PASSWORD)
        // Long enough for the old password to be found right and the session to wait for the reset.
        await new Promise((resolve) => setTimeout(resolve, 400))
        return { running: accepting }
      })
      assertProblem(await running, 'invalid_credentials')
      assert.equal(await api.db('memberships').where({ user_id: userId }).first(), undefined)
      assert.equal((await accept(token, 'another password altogether')).status, 201)
    })
  })
})

describe('an invitation by mail', () => {
  const smtp = forBlock(() => startSmtp({ tls: 'none', login: 'none' }))
  const mailEnv = () => ({ SMTP_URL: smtp.url, MAIL_FROM: 'Integrations <mail@service.example>' })
  const api = forBlock(() => startApi({ env: mailEnv() }))
  const owner = forEachTest(() => api.createOwner({ name: 'Acme Outfitters' }))

  const newEmail = () => `${crypto.randomUUID()}@people.example`
  const invite = (email: string, more: object = {}) =>
    owner.request('POST', 'people', { body: { name: 'Kim R.', email, role: 'viewer', ...more } })
  const linkIn = (text: string) => /https:\/\/api\.test\/invitation#(inv_\w{43})/.exec(text)?.[1] ?? ''
  const mailedLink = async (email: string) => linkIn((await smtp.mailTo(email)).text)
  const accept = (token: string) =>
    api.request('POST', '/v1/invitation', { body: { token, password: TEST_PASSWORD } })
  const preview = (token: string) => api.request('POST', '/v1/invitation/preview', { body: { token } })
  const listed = async (email: string) => {
    const { json } = await owner.request('GET', 'people')
    return json.people.find((person: { email: string }) => person.email === email)
  }
  const until = (email: string, mail: string) =>
    eventually(async () => (await listed(email)).mail === mail, { otherwise: () => `never ${mail}` })
  /** Sends the mail of an invitation as a process that then dies. Returns its link. */
  async function sendAndDie(userId: string, builtInAccounts = true): Promise<string> {
    const find = createInvitee({ clock: api.clock, baseUrl: 'https://api.test', builtInAccounts })
    return linkIn((await find(api.apiDb, { userId } as OutgoingMail))?.link?.url ?? '')
  }

  it('goes to the person alone, whose link joins them', async () => {
    const email = newEmail()
    const { status, json } = await invite(email)
    assert.deepEqual([status, json.invitationUrl, json.mail, json.mailedAt], [201, null, 'waiting', null])
    const mail = await smtp.mailTo(email)
    for (const part of [mail.text, mail.html])
      for (const word of ['Acme Outfitters', owner.name]) assert.ok(part.includes(word), word)
    const token = linkIn(mail.text)
    await until(email, 'sent')
    const { mailedAt, expiresAt } = await listed(email)
    assert.ok(Math.abs(Date.now() - Date.parse(mailedAt)) < 60_000)
    assert.ok(Math.abs(api.clock.now() + 72 * HOUR_MS - Date.parse(expiresAt)) < 60_000)
    const { rows } = await api.db.raw(
      'select m::text from mails m union all select l::text from invitation_links l',
    )
    for (const place of [api.logLines.join(), JSON.stringify(rows)])
      assert.ok(!place.includes(token.slice(4)))
    assert.equal((await accept(token)).json.companies[0].role, 'viewer')
    assertProblem(await accept(token), 'invitation_not_valid')
  })

  it('makes no second account of a person who can reset the password of theirs by mail', async () => {
    await using without = await startApi({ beside: api })
    const join = (token: string, at: Pick<typeof api, 'request'>) =>
      at.request('POST', '/v1/invitation', { body: { token, password: 'wrong donkey capacitor nail' } })
    for (const [deliver, at, isLinked, status] of [
      ['mail', api, false, 401],
      ['link', api, false, 201],
      ['mail', without, false, 201],
      ['mail', api, true, 201],
    ] as const) {
      const { email, userId } = await api.createOwner()
      if (isLinked) await addIdentity(api.db, { issuer: 'https://id.example', subject: userId, userId })
      const { invitationUrl } = (await invite(email, { deliver })).json
      const token = invitationUrl ? linkIn(invitationUrl) : await mailedLink(email)
      assert.equal((await join(token, at)).status, status)
      if (status === 401) assert.equal((await accept(token)).json.user.userId, userId)
    }
  })

  it('is a link to copy if the owner wants one, and never a mail where nothing is mailed', async () => {
    const { json } = await invite(newEmail(), { deliver: 'link' })
    assert.deepEqual([json.mail, json.mailedAt], [null, null])
    assert.equal((await accept(linkIn(json.invitationUrl))).status, 201)
    await using without = await startApi({ beside: api })
    const body = { name: 'Kim', email: newEmail(), role: 'member' }
    const off = (more: object) => owner.request('POST', 'people', { body: { ...body, ...more }, at: without })
    assertInvalid(await off({ deliver: 'mail' }), '/deliver')
    assert.equal((await off({})).json.mail, null)
    assertInvalid(await invite(newEmail(), { deliver: 'pigeon' }), '/deliver')
  })

  it('is not mailed without end, but can still be copied', async () => {
    const env = { ...mailEnv(), RATE_INVITATION_MAILS_PER_COMPANY: '1/86400' }
    await using limited = await startApi({ beside: api, env })
    const send = async (deliver?: 'link') => {
      const body = { name: 'Kim', email: newEmail(), role: 'member', deliver }
      return (await owner.request('POST', 'people', { body, at: limited })).status
    }
    const sent = [await send('link'), await send(), await send(), await send('link')]
    assert.deepEqual(sent, [201, 201, 429, 201])
  })

  it('works with each link if it was mailed twice, and all end once one is used', async () => {
    const { userId } = (await invite(newEmail())).json
    assert.equal(await sendAndDie(userId, false), '')
    const links = [await sendAndDie(userId), await sendAndDie(userId)]
    for (const link of links) assert.equal((await preview(link)).status, 200)
    assert.deepEqual((await Promise.all(links.map(accept))).map(({ status }) => status).sort(), [201, 404])
    for (const link of links) assertProblem(await preview(link), 'invitation_not_valid')
  })

  it('expires 72 hours after the last mail', async () => {
    const email = newEmail()
    const { userId } = (await invite(email)).json
    // Else the service might mail it only after the clock was moved, which would extend it.
    await until(email, 'sent')
    const first = await sendAndDie(userId)
    api.clock.advance(48 * HOUR_MS)
    const second = await sendAndDie(userId)
    api.clock.advance(72 * HOUR_MS - 1)
    for (const link of [first, second]) assert.equal((await preview(link)).status, 200)
    api.clock.advance(1)
    for (const link of [first, second]) assertProblem(await preview(link), 'invitation_not_valid')
    assert.equal(await sendAndDie(userId), '')
  })

  for (const deliver of ['mail', 'link'])
    it(`ends all earlier links when it is sent again by ${deliver}`, async () => {
      const email = newEmail()
      const { userId } = (await invite(email)).json
      const earlier = [await mailedLink(email), await sendAndDie(userId)]
      const { json } = await invite(email, { deliver })
      const link = deliver === 'link' ? linkIn(json.invitationUrl) : await mailedLink(email)
      for (const dead of earlier) assertProblem(await accept(dead), 'invitation_not_valid')
      assert.equal(await sendAndDie(userId), '')
      assert.equal((await accept(link)).status, 201)
    })

  it('says that it could not be mailed', async () => {
    const email = newEmail()
    const { fail } = smtp
    await using _ = afterwards(() => Object.assign(smtp, { fail }))
    smtp.fail = (step) => (step === 'recipient' ? '550 5.1.1 No such user' : undefined)
    await invite(email)
    await until(email, 'failed')
    assert.equal((await listed(email)).mailedAt, null)
  })

  const WAYS: Record<string, (userId: string) => Promise<unknown>> = {
    'it was withdrawn': (userId) => owner.request('DELETE', `people/${userId}`),
    'the person was erased': (userId) => erasePerson(api.db, { address: userId, by: testOperator() }),
    'the company is being erased': () =>
      api.db.raw('update companies set erased_at = now() where vendor_id = ?', [owner.vendorId]),
  }
  for (const [why, end] of Object.entries(WAYS))
    it(`is not mailed once ${why}, and its links have ended`, async () => {
      const { userId } = (await invite(newEmail())).json
      const link = await sendAndDie(userId)
      await end(userId)
      assertProblem(await accept(link), 'invitation_not_valid')
      assert.equal(await sendAndDie(userId), '')
    })
})
