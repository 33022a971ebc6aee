import assert from 'node:assert/strict'
import { hashSecret } from '#shared/oauth/ids.ts'
import { newPasswordResetToken } from '../../apps/api/accounts/new-ids.ts'
import { addIdentity } from '../../apps/api/accounts/openid-identities.ts'
import { hashPassword, unusableHash } from '../../apps/api/accounts/passwords.ts'
import { addMail } from '../../apps/api/mail/outbox.ts'
import { resetPassword } from '../../apps/api/sessions/change-password.ts'
import { insertPasswordReset } from '../../apps/api/sessions/password-resets.ts'
import { replacePassword } from '../../infra/admin/passwords.ts'
import { erasePerson } from '../../infra/admin/persons.ts'
import { startApi, TEST_PASSWORD, type TestPerson } from '../support/api.ts'
import { afterwards, forBlock, forEachTest } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'
import { loggedEvents } from '../support/log.ts'
import { testOperator } from '../support/operator.ts'
import { assertAlike, assertInvalid, assertProblem, assertStatuses } from '../support/problem.ts'
import { startSmtp } from '../support/smtp.ts'
import { askWhileLocked, PATIENT, untilBlocked } from '../support/stores.ts'

const NEW_PASSWORD = 'wrong donkey capacitor nail'
const HOUR_MS = 3_600_000
const TIME = { timeStyle: 'short', timeZone: 'Europe/Berlin' } as const
const ISSUER = 'https://id.example'
const CLIENT = { OPENID_CLIENT_ID: 'a', OPENID_CLIENT_SECRET: 'b' }
const OPENID = { ...CLIENT, OPENID_ISSUER: ISSUER, OPENID_COMPANIES: '*' }

describe('a forgotten password', () => {
  const smtp = forBlock(() => startSmtp({ tls: 'none', login: 'none' }))
  const mailEnv = () => ({ SMTP_URL: smtp.url, MAIL_FROM: 'Integrations <mail@service.example>' })
  const api = forBlock(() => startApi({ env: { ...mailEnv(), ...OPENID } }))
  const person = forEachTest(() => api.createOwner({ name: 'Acme Outfitters' }))

  type Api = Pick<typeof api, 'request'>
  const request = (email: unknown, at: Api = api, headers = {}) =>
    at.request('POST', '/v1/password-reset', { body: { email }, headers })
  const confirm = (token: unknown, password: unknown = NEW_PASSWORD, at: Api = api, headers = {}) =>
    at.request('POST', '/v1/password-reset/confirm', { body: { token, password }, headers })
  const signIn = (password: string, { email } = person) =>
    api.request('POST', '/v1/session', { body: { email, password } })
  /** A link as the mail of a request has it. */
  async function createLink({ userId } = person, requestedAt = new Date(api.clock.now())): Promise<string> {
    const token = newPasswordResetToken()
    const link = { userId, tokenHash: hashSecret(token), requestedAt, now: new Date(api.clock.now()) }
    await api.apiDb.transaction((transaction) => insertPasswordReset(transaction, link))
    return token
  }
  const linkOf = ({ text }: { text: string }) =>
    /https:\/\/api\.test\/password-reset#(\S+)/.exec(text)?.[1] ?? ''
  const failing = (fail: typeof smtp.fail) => {
    smtp.fail = fail
    return afterwards(async () => {
      smtp.fail = () => undefined
      await api.db('mails').delete()
    })
  }
  const storedRequests = (email: string) =>
    api.db('mails').whereRaw(`kind = 'password_reset_request' and detail->>'email' = ?`, [email])

  describe('the whole way', () => {
    it('is replaced by the link of a mail, which ends all sessions, and a second mail says so', async () => {
      const stranger = await api.createPerson()
      const { status, text } = await request(` ${person.email.toUpperCase()}`.trim())
      assert.deepEqual([status, text], [202, ''])
      const mail = await smtp.mailTo(person.email)
      assert.match(mail.text, /Acme Outfitters/)
      const token = linkOf(mail)
      assert.match(token, /^pwr_[0-9A-Za-z]{43}$/)
      assert.deepEqual(await confirm(token).then((answer) => [answer.status, answer.text]), [204, ''])
      const read = ({ sessionToken: token }: TestPerson) => api.request('GET', '/v1/session', { token })
      assertStatuses([await read(person), await read(stranger)], 401, 200)
      assertProblem(await signIn(TEST_PASSWORD), 'invalid_credentials')
      assert.equal((await signIn(NEW_PASSWORD)).status, 201)
      const changed = await smtp.mailTo(person.email)
      assert.match(changed.text, /password of your account was changed/)
      assert.ok(!changed.source.includes('pwr_'))
      const reasons = (event: string) =>
        loggedEvents(api, event).flatMap(({ userId, why }) => (userId === person.userId ? [why] : []))
      assert.deepEqual(reasons('password.changed'), [undefined])
      assert.deepEqual(reasons('session.ended'), ['password_changed'])
      const { rows } = await api.db.raw(
        'select m::text from mails m union all select p::text from password_resets p',
      )
      for (const place of [api.logLines.join(), JSON.stringify(rows)])
        for (const secret of [token.slice(4), NEW_PASSWORD]) assert.ok(!place.includes(secret))
    })

    for (const [times, zone] of [
      ['the zone of the only company', 'Europe/Berlin'],
      ['UTC, to a person of two companies', 'UTC'],
    ] as const)
      it(`is mailed with times in ${times}`, async () => {
        const { vendorId: vendor_id } = await api.createCompany({ name: 'Initech' })
        if (zone === 'UTC')
          await api.db('memberships').insert({ vendor_id, user_id: person.userId, role: 'member' })
        await request(person.email)
        const mail = await smtp.mailTo(person.email)
        await confirm(linkOf(mail))
        for (const { text } of [mail, await smtp.mailTo(person.email)])
          assert.equal(/\d\d:\d\d \((.+?)\)/.exec(text)?.[1], zone)
      })

    it('gets a mail for each account of the address, and one to sign in with the provider', async () => {
      const globex = await api.createOwner({ name: 'Globex Supply' })
      const { userId } = await api.createOwner({ name: 'Initech' })
      await api.db('users').whereIn('user_id', [globex.userId, userId]).update({ email: person.email })
      await addIdentity(api.db, { issuer: ISSUER, subject: userId, userId })
      // As if the person had asked twice before a mail could go.
      await api.apiDb.transaction(async (transaction) => {
        for (const ago_ms of [0, HOUR_MS]) {
          const requestedAt = new Date(api.clock.now() - ago_ms).toISOString()
          const detail = { email: person.email, requestedAt }
          await addMail(transaction, 'password_reset_request', { topic: 'an address', userId: null, detail })
        }
      })
      const mails = [1, 2, 3].map(() => smtp.mailTo(person.email))
      const texts = (await Promise.all(mails)).map(({ text }) => text)
      const latest = new Date(api.clock.now()).toLocaleTimeString('en-GB', TIME)
      assert.ok(texts.every((text) => text.includes(` at ${latest} (Europe/Berlin)`)))
      const find = (pattern: RegExp) => texts.find((text) => pattern.test(text)) ?? ''
      assert.match(find(/Acme Outfitters/), /pwr_/)
      assert.match(find(/Globex Supply/), /pwr_/)
      assert.equal(texts.filter((text) => text.includes('pwr_')).length, 2)
      const ids = [person.userId, globex.userId, userId]
      assert.equal((await api.db('mails').whereIn('user_id', ids)).length, 3)
      assert.equal((await confirm(linkOf({ text: find(/Globex Supply/) }))).status, 204)
      assert.equal((await signIn(TEST_PASSWORD)).status, 201)
      assert.equal((await signIn(NEW_PASSWORD)).json.user.userId, globex.userId)
    })

    it('is not what a stranger can end: who sets it signs in next, however many have failed', async () => {
      const limits = { RATE_SIGN_IN_STRANGERS_PER_ACCOUNT: '2/86400', TRUSTED_PROXIES: '127.0.0.1' }
      await using limited = await startApi({ beside: api, env: { ...mailEnv(), ...limits } })
      const tryIn = (password: string, headers = {}) =>
        limited.request('POST', '/v1/session', { body: { email: person.email, password }, headers })
      for (let tries = 0; tries < 2; tries++) await tryIn('wrong')
      assertProblem(await tryIn(TEST_PASSWORD), 'rate_limited')
      const browser = { cookie: `__Host-browser=${'a'.repeat(43)}` }
      await confirm(await createLink(), NEW_PASSWORD, limited, browser)
      const elsewhere = { 'x-forwarded-for': '192.0.2.8' }
      const next = [await tryIn(NEW_PASSWORD), await tryIn(NEW_PASSWORD, elsewhere)]
      assertStatuses([...next, await tryIn(NEW_PASSWORD, { ...elsewhere, ...browser })], 201, 429, 201)
    })
  })

  describe('POST /v1/password-reset', () => {
    it('answers and writes the same for any address, while no one can read the accounts', async () => {
      await using alone = await startApi({ env: mailEnv() })
      const owner = await alone.createOwner()
      const linked = await alone.createOwner()
      await addIdentity(alone.db, { issuer: 'https://id.example', subject: 'a', userId: linked.userId })
      const answers: object[] = []
      const details: string[][] = []
      await alone.db.transaction(async (transaction) => {
        const tables = 'users, memberships, openid_identities, sign_in_addresses, sessions'
        await transaction.raw(`lock table ${tables} in access exclusive mode`)
        for (const email of [owner.email, linked.email, 'nobody@people.example']) {
          const { status, text, headers } = await request(email, alone)
          answers.push({ status, text, ...Object.fromEntries(headers), date: '', 'x-request-id': '' })
        }
        for (const { kind, user_id, vendor_id, detail } of await alone.db('mails').select())
          details.push([kind, user_id, vendor_id, ...Object.keys(detail)])
      })
      assert.deepEqual(answers, Array(3).fill(answers[0]))
      assert.deepEqual(details, Array(3).fill(['password_reset_request', null, null, 'email', 'requestedAt']))
    })

    it('keeps nothing of what was typed once it has been looked up', async () => {
      const email = `${crypto.randomUUID()}@people.example`
      assert.equal((await request(email)).status, 202)
      await eventually(async () => (await storedRequests(email)).length === 0, { otherwise: () => 'kept' })
      const { rows } = await api.db.raw('select m::text from mails m')
      for (const place of [api.logLines.join(), JSON.stringify(rows)]) assert.ok(!place.includes(email))
      assert.ok(!smtp.mails.some(({ to }) => to === email))
    })

    it('keeps nothing of what was typed while the mail server is away either', async () => {
      const email = `${crypto.randomUUID()}@people.example`
      await using _ = failing((step) => (step === 'greeting' ? 'drop' : '421 4.3.2 Closing'))
      const detail = { at: new Date().toISOString(), by: 'person' } as const
      await addMail(api.apiDb, 'password_changed', { topic: 'a', userId: person.userId, detail })
      await request(email)
      await eventually(async () => {
        // Ends the pause of the sender.
        await api.db('mails').whereNotNull('sender').update({ due_at: new Date() })
        return (await storedRequests(email)).length === 0
      })
    })

    it('holds up no other mail and is not forgotten, however many ask', async () => {
      // Until it is gone, nothing is sent.
      const sender = crypto.randomUUID()
      const sending = { kind: 'password_changed', topic: 'a', detail: {}, is_urgent: true, sender }
      await api.db('mails').insert({ ...sending, due_at: new Date(Date.now() + HOUR_MS) })
      await request(person.email)
      const detail = { email: 'nobody@people.example', requestedAt: new Date().toISOString() }
      for (let count = 0; count < 450; count += 1)
        await addMail(api.apiDb, 'password_reset_request', { topic: 'an address', userId: null, detail })
      await api.db('mails').where({ sender }).delete()
      await smtp.mailTo(person.email)
    })

    it('is limited for an account however it is spelled, whether or not it exists, for an hour', async () => {
      const env = { ...mailEnv(), RATE_SIGN_IN_PER_ADDRESS: '9999/60' }
      await using away = await startApi({ beside: api, env })
      for (const email of [person.email, `${crypto.randomUUID()}@people.example`]) {
        for (const spelled of [email, email.toUpperCase(), email])
          assert.equal((await request(spelled, away)).status, 202)
        const { status, headers, json } = await request(email, away)
        assert.deepEqual([status, json.code], [429, 'rate_limited'])
        assert.ok(Number(headers.get('retry-after')) > 3_500)
      }
    })

    it('is limited for an address, whatever accounts it asks for', async () => {
      const limits = { RATE_SIGN_IN_PER_ADDRESS: '2/60', TRUSTED_PROXIES: '127.0.0.1' }
      await using limited = await startApi({ beside: api, env: { ...mailEnv(), ...limits } })
      const headers = { 'x-forwarded-for': '192.0.2.7' }
      const ask = (n: number) => request(`${n}@many.example`, limited, headers)
      assertStatuses([await ask(1), await ask(2), await ask(3)], 202, 202, 429)
    })
  })

  describe('POST /v1/password-reset/confirm', () => {
    it('refuses what changing a password refuses, and the link stays good', async () => {
      const sibling = await api.createOwner()
      await api.db('users').where({ user_id: sibling.userId }).update({ email: person.email })
      const passwordHash = await hashPassword('a sibling of a password')
      await resetPassword(api.db, { userId: sibling.userId, passwordHash })
      const requestedAt = new Date(api.clock.now())
      // A mail that goes twice has a link each time.
      const [token] = [await createLink(person, requestedAt), await createLink(person, requestedAt)]
      for (const [what, password] of [
        ['too short', 'elevenchars'],
        ['the name of the company', 'acmeoutfitters'],
        ['the name', `${person.name} 1234`],
        ['the address', person.email],
        ['the present one', TEST_PASSWORD],
        ['that of another account of the address', 'a sibling of a password'],
      ] as const)
        assert.ok((await confirm(token, password)).text.includes('"/password"'), what)
      assert.equal((await signIn(TEST_PASSWORD)).status, 201)
      assert.equal((await confirm(token)).status, 204)
    })

    it('answers alike to every invalid token, and limits guesses by address', async () => {
      const tokens = [newPasswordResetToken(), `inv_${'a'.repeat(43)}`, 'x', '', person.sessionToken]
      assertAlike(await Promise.all(tokens.map((token) => confirm(token))), 'password_reset_not_valid')
      assertInvalid(await confirm('a'.repeat(101)), '/token')
      const limits = { RATE_SESSION_GUESSES_PER_ADDRESS: '2/60', TRUSTED_PROXIES: '127.0.0.1' }
      await using limited = await startApi({ beside: api, env: { ...mailEnv(), ...limits } })
      const elsewhere = { 'x-forwarded-for': '192.0.2.9' }
      const guess = (token = newPasswordResetToken()) => confirm(token, NEW_PASSWORD, limited, elsewhere)
      assertStatuses([await guess('x'), await guess(), await guess()], 404, 404, 429)
      assert.equal((await guess(await createLink())).status, 204)
    })

    for (const [host, limit] of ['RATE_SIGN_IN_PER_ACCOUNT', 'RATE_SIGN_IN_PER_ADDRESS'].entries())
      it(`limits guesses at a present password by who has a link: ${limit}`, async () => {
        const env = { ...mailEnv(), TRUSTED_PROXIES: '127.0.0.1', [limit]: '2/60' }
        await using limited = await startApi({ beside: api, env })
        const token = await createLink()
        const guess = () => confirm(token, TEST_PASSWORD, limited, { 'x-forwarded-for': `192.0.2.1${host}` })
        assertStatuses([await guess(), await guess(), await guess()], 422, 422, 429)
      })

    it('lets one of two win that are sent at once, with one link or with two', async () => {
      const requestedAt = new Date(api.clock.now())
      for (const links of [1, 2]) {
        const tokens: string[] = []
        for (let link = 0; link < links; link++) tokens.push(await createLink(person, requestedAt))
        const tries = [0, 1, 2, 3].map((index) =>
          confirm(tokens[index % links], `${NEW_PASSWORD} ${links}${index}`),
        )
        assert.deepEqual((await Promise.all(tries)).map(({ status }) => status).sort(), [204, 404, 404, 404])
      }
    })

    it('gives no two accounts of an address one password, which a link and a session set at once', async () => {
      const sibling = await api.createOwner()
      await api.db('users').where({ user_id: sibling.userId }).update({ email: person.email })
      const token = await createLink()
      const holding = await api.db.transaction()
      await holding.raw('select from users where email = ? for update', [person.email])
      const body = { currentPassword: TEST_PASSWORD, newPassword: NEW_PASSWORD }
      const changing = api.request('PUT', '/v1/session/password', { token: sibling.sessionToken, body })
      const both = [confirm(token), changing]
      await untilBlocked(api.db, 2)
      await holding.commit()
      assert.deepEqual((await Promise.all(both)).map(({ status }) => status).sort(), [204, 503])
    })

    const leaveOwnership = ({ userId }: TestPerson) =>
      api.db('memberships').where({ user_id: userId }).update({ role: 'admin' })
    const WAYS: Record<string, (person: TestPerson) => unknown> = {
      'an hour has passed': () => api.clock.advance(HOUR_MS),
      'a later request has a link': () => createLink(person, new Date(api.clock.now() + 1)),
      'a later request has a link, by a clock that was set back': () => {
        api.clock.advance(-60_000)
        return createLink()
      },
      'the password was changed': ({ sessionToken: token }) => {
        const body = { currentPassword: TEST_PASSWORD, newPassword: 'another donkey capacitor' }
        return api.request('PUT', '/v1/session/password', { token, body })
      },
      'the operator set the same password': ({ email }) =>
        replacePassword(api.db, { email, password: async () => TEST_PASSWORD, by: testOperator() }),
      'the account was linked to a provider': ({ userId }) =>
        resetPassword(api.apiDb, { userId, passwordHash: unusableHash() }),
      'the person left their last company': async (leaving) => {
        await leaveOwnership(leaving)
        const owner = await api.createPerson({ vendorId: person.vendorId })
        assert.equal((await owner.request('DELETE', `people/${leaving.userId}`)).status, 204)
      },
      'the person was erased': async (erased) => {
        await leaveOwnership(erased)
        await erasePerson(api.db, { address: erased.userId, by: testOperator() })
      },
    }
    for (const [why, end] of Object.entries(WAYS))
      it(`refuses a link once ${why}`, async () => {
        const token = await createLink()
        await end(person)
        assertProblem(await confirm(token, 'yet another donkey capacitor'), 'password_reset_not_valid')
      })

    it('keeps a link that was answered with 503', async () => {
      const timeouts = { ...PATIENT, request_ms: 4_000 }
      await using slow = await startApi({ beside: api, env: mailEnv(), timeouts })
      const link = await createLink()
      const late = await askWhileLocked(api.db, 'sessions', () => confirm(link, NEW_PASSWORD, slow))
      assertProblem(late, 'unavailable')
      assert.equal((await confirm(link)).status, 204)
    })

    it('sends no link that was asked for before the password was set', async () => {
      await using _ = failing((step) => (step === 'recipient' ? '450 4.2.0 Greylisted' : undefined))
      await request(person.email)
      const waiting = () => api.db('mails').where({ user_id: person.userId, kind: 'password_reset' })
      await eventually(async () => (await waiting()).length === 1, { otherwise: () => 'no mail waits' })
      await confirm(await createLink())
      assert.deepEqual(await waiting(), [])
    })
  })

  describe('where it cannot be reset', () => {
    for (const [why, env] of [
      ['nothing is mailed', () => ({})],
      ['there are no passwords', () => ({ ...mailEnv(), ...OPENID, BUILT_IN_ACCOUNTS: 'off' })],
    ] as const)
      it(`is not_found where ${why}`, async () => {
        await using without = await startApi({ beside: api, env: env() })
        assertProblem(await request(person.email, without), 'not_found')
        assertProblem(await confirm(await createLink(), NEW_PASSWORD, without), 'not_found')
        assert.equal((await signIn(TEST_PASSWORD)).status, 201)
      })

    it('waits until a restored database is confirmed', async () => {
      const token = await createLink()
      await api.db('restore_fences').insert({ reason: 'a test' })
      assertProblem(await request(person.email), 'unavailable')
      assertProblem(await confirm(token), 'unavailable')
      await api.db('restore_fences').update({ lowered_at: new Date() })
      assert.equal((await confirm(token)).status, 204)
    })
  })
})
