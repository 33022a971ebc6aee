import assert from 'node:assert/strict'
import { recordActivity } from '../../apps/api/accounts/activity.ts'
import { saveMembership } from '../../apps/api/accounts/people.ts'
import { TEST_PASSWORD } from '../support/api.ts'
import { loggedEvents } from '../support/log.ts'
import { OPENID_CLIENT } from '../support/openid-provider.ts'
import { assertInvalid, assertProblem } from '../support/problem.ts'
import { assertOutcome, CALLBACK, OWN, PAGE, readCookie, sharedOpenidSignIns } from './openid-sign-ins.ts'

describe('signing in with an OpenID provider', () => {
  const all = sharedOpenidSignIns()
  const { api, provider, person, begin, approve, atProvider, finish, signIn, sessionOf } = all

  describe('the first time', () => {
    it('creates an account in the claimed company, with an ordinary session', async () => {
      const subject = person({ groups: ['everyone', 'member', 'integration admins'], name: 'Kim R.' })
      const response = await signIn(subject, { to: '/ven_acme/activity?days=7' })
      assert.match(
        response.headers.getSetCookie().find((one) => one.startsWith('__Host-session')) ?? '',
        /^__Host-session=ses_[0-9A-Za-z]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
      )
      const { user, companies } = await sessionOf(response, '/ven_acme/activity?days=7')
      const { userId, name, email } = user
      assert.deepEqual([name, email], ['Kim R.', `${subject}@acme.example`])
      const signedIn = loggedEvents(api, 'sign_in.succeeded').filter((line) => line.userId === userId)
      assert.deepEqual([signedIn.length, signedIn[0].how, companies.length], [1, 'openid', 1])
      assert.partialDeepStrictEqual(companies, [{ vendorId: 'ven_acme', role: 'admin', status: 'active' }])
      const { action, detail } = await api.db('activity').where({ user_id: userId }).first()
      assert.deepEqual(detail, { name, email, role: 'admin', through: 'openid' })
      assert.equal(action, 'person.joined')
    })

    it('leaves no password that could be used', async () => {
      const { user } = await sessionOf(await signIn(person()))
      for (const password of [TEST_PASSWORD, user.email, user.userId]) {
        const body = { email: user.email, password }
        assertProblem(await api.request('POST', '/v1/session', { body }), 'invalid_credentials')
      }
    })

    it('asks with PKCE, state and nonce, for the scope that is configured, and no more', async () => {
      const { authorizationUrl, cookie } = await begin()
      const { state, nonce, code_challenge, ...asked } = Object.fromEntries(authorizationUrl.searchParams)
      assert.equal(authorizationUrl.origin, provider.issuer)
      assert.deepEqual(asked, {
        client_id: OPENID_CLIENT.id,
        response_type: 'code',
        redirect_uri: PAGE + CALLBACK,
        scope: all.env.OPENID_SCOPE,
        code_challenge_method: 'S256',
      })
      const values = [state ?? '', nonce ?? '', code_challenge ?? '']
      assert.equal(new Set(values).size, 3)
      const parts = cookie.slice(cookie.indexOf('=') + 1).split('.')
      const [header = '', ...sealed] = parts.map((part) => Buffer.from(part, 'base64url'))
      assert.equal(JSON.parse(header.toString()).enc, 'A256GCM')
      for (const value of values) {
        assert.match(value, /^[\w-]{43}$/)
        for (const part of [header, ...sealed]) assert.ok(!part.includes(value))
        assert.ok(!cookie.includes(value))
      }
    })

    it('ends an invitation to the same address', async () => {
      const owner = await api.createPerson({ vendorId: 'ven_globex' })
      const subject = person({ org: 'ven_globex' })
      const email = `${subject}@acme.example`
      await owner.invite(email)
      await sessionOf(await signIn(subject))
      assert.deepEqual(await api.db('invitations').where({ email }), [])
    })
  })

  it('waits, like every sign-in, until a restored database is confirmed', async () => {
    await api.db('restore_fences').insert({ reason: 'a test' })
    assertOutcome(await signIn(person()), 'unavailable')
    await api.db('restore_fences').update({ lowered_at: new Date() })
  })

  it('lets a company grow to 200 people', async () => {
    await api.db.raw(
      `with people as (
         insert into users (user_id, email, name, password_hash)
         select 'usr_many' || n, 'many' || n || '@x.example', 'n', '$argon2id$' from generate_series(1, 199) n
         returning user_id
       ), joined as (insert into memberships (vendor_id, user_id, role) select 'ven_full', user_id, 'member' from people)
       select 1`,
    )
    assertOutcome(await signIn(person({ org: 'full.example' })), 'done')
    assertOutcome(await signIn(person({ org: 'full.example' })), 'company_full')
  })

  describe('again', () => {
    it('finds the account by issuer and subject, whatever address and name say now', async () => {
      const subject = person()
      const first = await sessionOf(await signIn(subject))
      const other = await api.createPerson({ vendorId: 'ven_acme', role: 'admin' })
      for (const email of ['new@acme.example', other.email, undefined]) {
        provider.people.set(subject, { org: 'acme.example', groups: 'member', email, email_verified: true })
        assert.equal((await sessionOf(await signIn(subject))).user.userId, first.user.userId)
      }
    })

    it('treats the same subject of another provider as a stranger', async () => {
      const there = await api.createPerson({ vendorId: 'ven_acme', role: 'member' })
      const subject = person()
      const elsewhere = { issuer: 'http://before.example', subject, user_id: there.userId }
      await api.db('openid_identities').insert(elsewhere)
      const { user } = await sessionOf(await signIn(subject))
      assert.notEqual(user.userId, there.userId)
    })

    it('takes over the highest role of the claim, with an activity entry of the person', async () => {
      const subject = person()
      const { user } = await sessionOf(await signIn(subject))
      provider.people.set(subject, { org: 'acme.example', groups: ['member', 'viewer'] })
      assert.equal((await sessionOf(await signIn(subject))).companies[0].role, 'viewer')
      provider.people.set(subject, { org: 'acme.example', groups: 'integration admins' })
      assert.equal((await sessionOf(await signIn(subject))).companies[0].role, 'admin')
      const changes = api.db('activity').where({ subject: user.userId, action: 'person.changed' })
      const { user_id, detail } = await changes.orderBy('entry_id', 'desc').first()
      assert.deepEqual([user_id, detail.through], [user.userId, 'openid'])
      assert.deepEqual([detail.before.role, detail.after.role], ['viewer', 'admin'])
    })

    it('lets an owner stay the owner, and never makes one', async () => {
      const owner = await api.createPerson({ vendorId: 'ven_acme', role: 'owner' })
      const { user, companies } = await sessionOf(await signIn(person({ email: owner.email.toUpperCase() })))
      assert.deepEqual([user.userId, companies[0].role], [owner.userId, 'owner'])
      assertOutcome(await signIn(person({ groups: 'owner' })), 'no_role')
    })

    it('refuses a person suspended or removed meanwhile', async () => {
      const subject = person()
      const { user } = await sessionOf(await signIn(subject))
      const membership = { vendorId: 'ven_acme', userId: user.userId, role: 'member' } as const
      await saveMembership(api.db, { ...membership, status: 'suspended' })
      assertOutcome(await signIn(subject), 'suspended')
      await api.db('memberships').where({ user_id: user.userId }).delete()
      assertOutcome(await signIn(subject), 'removed')
      await saveMembership(api.db, { ...membership, status: 'active' })
      assertOutcome(await signIn(subject), 'done')
    })
  })

  describe('to hand a company over', () => {
    it('requires a provider sign-in of the last 15 minutes to hand a company over', async () => {
      const vendorId = 'ven_globex'
      const subject = person({ org: vendorId })
      const { user } = await sessionOf(await signIn(subject))
      await api.db('memberships').where({ vendor_id: vendorId, role: 'owner' }).delete()
      await saveMembership(api.db, { vendorId, userId: user.userId, role: 'owner', status: 'active' })
      const heir = await api.createPerson({ vendorId, role: 'admin' })
      let current = `__Host-session=${await api.createSession(user.userId)}`
      const handOver = async (fresh: boolean) => {
        const headers = { ...OWN, cookie: current }
        const started = await api.request('POST', '/v1/session/openid', { body: { fresh }, headers })
        const begun = {
          authorizationUrl: new URL(started.json.authorizationUrl),
          cookie: readCookie(started, '__Host-openid') ?? '',
        }
        assert.equal(begun.authorizationUrl.searchParams.get('max_age'), fresh ? '0' : null)
        // As a browser: the provider's redirect brings no SameSite=Strict cookie.
        const back = await finish(await atProvider(begun, subject), begun.cookie)
        const before = await api.request('GET', '/v1/session', { headers: { cookie: current } })
        assertProblem(before, 'unauthenticated')
        current = readCookie(back, '__Host-session') ?? ''
        const path = `/v1/vendor/${vendorId}/people/${heir.userId}`
        return api.request('PATCH', path, { body: { role: 'owner' }, headers: { ...OWN, cookie: current } })
      }
      assertProblem(await handOver(false), 'recent_sign_in_required')
      assert.equal((await handOver(true)).status, 200)
      const ended = loggedEvents(api, 'session.ended').filter(({ userId }) => userId === user.userId)
      assert.equal(ended.map(({ why }) => why).join(), 'replaced,replaced')
    })
  })

  describe('with other claims', () => {
    for (const [what, claims, outcome] of [
      ['no company', { org: undefined }, 'no_company'],
      ['a company that is not mapped, though it exists', { org: 'ven_initech' }, 'no_company'],
      ['the id of a company whose value is another', { org: 'ven_acme' }, 'no_company'],
      ['a mapped company that does not exist', { org: 'gone.example' }, 'no_company'],
      ['a company in a list', { org: ['acme.example'] }, 'no_company'],
      ['several companies', { org: ['acme.example', 'ven_globex'] }, 'no_company'],
      ['no role', { groups: undefined }, 'no_role'],
      ['no known role', { groups: ['staff', 7, null, '__proto__'] }, 'no_role'],
      ['the name of a role here, which means nothing there', { groups: 'admin' }, 'no_role'],
      ['no address', { email: undefined }, 'no_email'],
      ['an address that is not verified', { email_verified: false }, 'no_email'],
      ['an address that is verified by a word', { email_verified: 'true' }, 'no_email'],
      ['what is no address', { email: 'two@at@signs' }, 'no_email'],
    ] as const)
      it(`refuses ${what}`, async () => {
        const before = await api.db('users').count()
        assertOutcome(await signIn(person(claims)), outcome)
        assert.deepEqual(await api.db('users').count(), before)
      })

    it('signs the same person in twice at once, with one account', async () => {
      const subject = person()
      const begun = [await begin(), await begin()] as const
      const back = [await atProvider(begun[0], subject), await atProvider(begun[1], subject)] as const
      const finished = await Promise.all([finish(back[0], begun[0].cookie), finish(back[1], begun[1].cookie)])
      const sessions = await Promise.all(finished.map((each) => sessionOf(each)))
      const ids = new Set(sessions.map(({ user }) => user.userId))
      assert.equal(ids.size, 1)
      assert.equal((await api.db('activity').whereIn('subject', [...ids])).length, 1)
    })

    it('names a person without a usable name by the address', async () => {
      const email = `${'a'.repeat(199)}😀${crypto.randomUUID()}@acme.example`
      const { user } = await sessionOf(await signIn(person({ name: 'two\nlines', email })))
      assert.equal(user.name, email.slice(0, 201), '200 characters')
    })
  })

  describe('where the address has a built-in account', () => {
    it('takes over a built-in account in its own company, with an activity entry in each', async () => {
      const there = await api.createPerson({ vendorId: 'ven_acme', role: 'member' })
      await saveMembership(api.db, { ...there, vendorId: 'ven_globex', role: 'member', status: 'active' })
      const subject = person({ email: there.email })
      const { user } = await sessionOf(await signIn(subject))
      assert.equal(user.userId, there.userId)
      const { password_hash } = await api.db('users').where({ user_id: user.userId }).first()
      assert.equal(password_hash.split('$')[4], 'AQEBAQEBAQEBAQEBAQEBAQ', 'the salt that its address has')
      await sessionOf(await signIn(subject))
      const { userId: user_id, name, email } = user
      const entry = { vendor_id: 'ven_acme', user_id, action: 'person.linked', detail: { name, email } }
      const entries = api.db('activity').where({ subject: user_id }).orderBy('vendor_id')
      const expected = [entry, { ...entry, vendor_id: 'ven_globex' }]
      assert.deepEqual(await entries.select(...Object.keys(entry)), expected)
      // The person who made the account has neither its password nor a session any more.
      const token = there.sessionToken
      assertProblem(await api.request('GET', '/v1/session', { token }), 'unauthenticated')
      const ended = loggedEvents(api, 'session.ended').filter(({ userId }) => userId === there.userId)
      assert.equal(ended.length, 1)
      assert.partialDeepStrictEqual(ended, [{ why: 'account_linked', clientAddress: '127.0.0.1' }])
      const body = { email, password: TEST_PASSWORD }
      assertProblem(await api.request('POST', '/v1/session', { body }), 'invalid_credentials')
      // The account is somebody's now.
      assertOutcome(await signIn(person({ email: there.email })), 'account_exists')
    })

    it('creates an account beside a stranger’s, which is left alone', async () => {
      const stranger = await api.createPerson({ vendorId: 'ven_globex', role: 'admin' })
      const { user, companies } = await sessionOf(await signIn(person({ email: stranger.email })))
      assert.notEqual(user.userId, stranger.userId)
      assert.deepEqual([companies.length, companies[0].vendorId], [1, 'ven_acme'])
      assert.equal(await api.db('openid_identities').where({ user_id: stranger.userId }).first(), undefined)
      assert.equal((await api.request('GET', '/v1/session', { token: stranger.sessionToken })).status, 200)
      // With one salt, a wrong password takes as long as for one account.
      const salt = api.db.raw(`split_part(password_hash, '$', 5) as salt`)
      assert.equal((await api.db('users').distinct(salt).where({ email: stranger.email })).length, 1)
    })

    it('keeps out a person removed before the first sign-in, until invited again', async () => {
      await api.db('memberships').where({ vendor_id: 'ven_globex', role: 'owner' }).delete()
      const owner = await api.createPerson({ vendorId: 'ven_globex' })
      const there = await api.createPerson({ vendorId: 'ven_globex', role: 'admin' })
      const by = { vendorId: 'ven_globex', by: there.userId }
      await recordActivity(api.apiDb, by, 'person.joined', there.userId, { email: there.email })
      await owner.request('DELETE', `people/${there.userId}`)
      const subject = person({ email: there.email, org: 'ven_globex' })
      assertOutcome(await signIn(subject), 'removed')
      await owner.invite(there.email)
      const invitation = api.db('invitations').where({ email: there.email })
      const [created_at, expires_at] = [2, 1].map((ago_ms) => new Date(api.clock.now() - ago_ms))
      const [{ user_id }] = await invitation.update({ created_at, expires_at }).returning('user_id')
      assertOutcome(await signIn(subject), 'removed')
      await owner.request('DELETE', `people/${user_id}`)
      assertOutcome(await signIn(subject), 'removed')
      await owner.invite(there.email)
      const { user } = await sessionOf(await signIn(subject))

      // The same holds for one removed later, whose account has no company left.
      await owner.request('DELETE', `people/${user.userId}`)
      assertOutcome(await signIn(subject), 'removed')
      await owner.invite(there.email)
      provider.people.set(subject, { org: 'ven_globex', groups: 'viewer', email: 'other@acme.example' })
      assertOutcome(await signIn(subject), 'removed')
      const claims = { org: 'ven_globex', groups: 'viewer', email: there.email, email_verified: true }
      provider.people.set(subject, claims)
      const again = await sessionOf(await signIn(subject))
      assert.deepEqual([again.user.userId, again.companies[0].role], [user.userId, 'viewer'])
      await owner.request('DELETE', `people/${user.userId}`)
      const body = { token: await owner.invite(there.email), password: TEST_PASSWORD }
      const joined = (await api.request('POST', '/v1/invitation', { body })).json.user
      assertOutcome(await signIn(subject), 'account_exists')
      await owner.request('DELETE', `people/${joined.userId}`)
      await saveMembership(api.db, { ...user, vendorId: 'ven_acme', role: 'member', status: 'active' })
      await owner.invite(there.email)
      assertOutcome(await signIn(subject), 'removed')
    })

    it('does not take over a suspended account, or one by an unverified address', async () => {
      const suspended = await api.createPerson({ vendorId: 'ven_acme', role: 'admin', status: 'suspended' })
      assertOutcome(await signIn(person({ email: suspended.email })), 'account_exists')
      const { email } = await api.createPerson({ vendorId: 'ven_acme', role: 'admin' })
      assertOutcome(await signIn(person({ email, email_verified: false })), 'no_email')
    })

    it('does not open a company that the provider does not serve', async () => {
      const there = await api.createPerson({ vendorId: 'ven_acme', role: 'member' })
      const subject = person({ email: there.email })
      assertOutcome(await signIn(subject), 'done')
      const also = { vendorId: 'ven_initech', userId: there.userId, role: 'admin', status: 'active' } as const
      await saveMembership(api.db, also)
      assertOutcome(await signIn(subject), 'other_company')
    })
  })

  describe('under attack', () => {
    it('starts a sign-in only from a workspace page', async () => {
      const elsewhere: Record<string, string>[] = [
        { origin: 'https://evil.test' },
        { 'sec-fetch-site': 'cross-site' },
      ]
      for (const headers of [{}, ...elsewhere])
        assertProblem(await api.request('POST', '/v1/session/openid', { body: {}, headers }), 'forbidden')
    })

    it('redirects only to a workspace page', async () => {
      for (const to of [
        ...['https://evil.test/', '//evil.test/', '/\t/evil.test/', '/.//evil.test/', 'javascript:alert(1)'],
        ...['/v1/session/openid/callback', '/x/../v1/session', `/${'x'.repeat(1_000)}`],
      ]) {
        const response = await api.request('POST', '/v1/session/openid', { body: { to }, headers: OWN })
        assertInvalid(response, '/to')
        assert.equal(response.headers.getSetCookie().length, 0)
      }
      assertOutcome(await signIn(person(), { to: '/a\r\nb?c=ü#d' }), 'done', '/ab?c=%C3%BC')
    })

    it('does not finish in a browser that did not start the sign-in', async () => {
      const victim = await begin()
      const attacker = await begin()
      const back = await atProvider(attacker, person())
      const asked = provider.asked.length
      const misspelled = [attacker.cookie.slice(0, -4), attacker.cookie.replace('__Host-', '')]
      for (const cookie of [undefined, victim.cookie, '__Host-openid=x', ...misspelled])
        assertOutcome(await finish(back, cookie), 'expired')
      assert.equal(provider.asked.length, asked, 'the provider was asked')
      // Nor does it end the sign-in that the browser did begin.
      assert.equal(readCookie(await finish(back, victim.cookie), '__Host-openid'), undefined)
      assertOutcome(await finish(await atProvider(victim, person()), victim.cookie), 'done')
    })

    it('does not take the code of another sign-in', async () => {
      const victim = await begin()
      const back = await atProvider(await begin(), person())
      back.searchParams.set('state', victim.authorizationUrl.searchParams.get('state') ?? '')
      assertOutcome(await finish(back, victim.cookie), 'not_trusted')
    })

    it('finishes a sign-in only once', async () => {
      const { back, cookie } = await approve()
      assertOutcome(await finish(back, cookie), 'done')
      const asked = provider.asked.length
      assertOutcome(await finish(back, cookie), 'expired')
      assert.equal(provider.asked.length, asked, 'the provider was asked')
    })

    for (const [what, outcome, change] of [
      ['after ten minutes', 'expired', () => api.clock.advance(600_000)],
      ['from another provider', 'not_trusted', (back) => back.searchParams.set('iss', 'https://evil.test')],
      ['that does not name its provider', 'not_trusted', (back) => back.searchParams.delete('iss')],
      ['without a code', 'not_trusted', (back) => back.searchParams.delete('code')],
    ] as [what: string, outcome: string, change: (back: URL) => void][])
      it(`refuses a redirect ${what}`, async () => {
        const { back, cookie } = await approve()
        change(back)
        const asked = provider.asked.length
        assertOutcome(await finish(back, cookie), outcome)
        assert.equal(provider.asked.length, asked, 'the provider was asked')
      })

    for (const name of ['state', 'code', 'x'])
      it(`redirects to the workspace when ${name} is sent twice`, async () => {
        const { back, cookie } = await approve('/ven_acme/analytics')
        for (let i = 0; i < 2; i++) back.searchParams.append(name, 'another')
        const outcome = name === 'x' ? 'done' : 'not_trusted'
        assertOutcome(await finish(back, cookie), outcome, '/ven_acme/analytics')
      })

    it('says in its own words that the person refused, or that the provider did', async () => {
      const begun = await begin('/ven_acme/analytics')
      provider.signInAs(undefined)
      const back = await provider.visit(begun.authorizationUrl.href)
      assert.equal(back.searchParams.get('error_description'), '<b>no</b>')
      assertOutcome(await finish(back, begun.cookie), 'cancelled', '/ven_acme/analytics')
      const again = await begin()
      back.searchParams.set('state', again.authorizationUrl.searchParams.get('state') ?? '')
      back.searchParams.set('error', '<script>alert(1)</script>')
      assertOutcome(await finish(back, again.cookie), 'not_trusted')
      assert.ok(!api.logLines.some((line) => line.includes('<')))
    })
  })

  describe('in the end', () => {
    it('leaves no secret, code, state, nonce or token in the log or a table', async () => {
      all.assertNothingLogged()
      assert.ok(api.logLines.some((line) => line.includes('"about":"invalid_grant"')))
      const { rows } = await api.db.raw('select row_to_json(i)::text as line from openid_identities i')
      assert.ok(rows.length > 5)
      const identity =
        /^\{"issuer":"http:[^"]+","subject":"subject-\d+","user_id":"usr_\w+","created_at":"[^"]+"\}$/
      for (const { line } of rows) assert.match(line, identity)
    })
  })
})
