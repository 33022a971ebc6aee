import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { hashSecret } from '#shared/oauth/ids.ts'
import type { AnsweredRequest } from '#shared/usage/client-usage.ts'
import { ACTIVITY_ACTIONS } from '../../apps/api/accounts/activity.ts'
import { saveMembership } from '../../apps/api/accounts/people.ts'
import { saveDestination } from '../../apps/api/callbacks/destinations.ts'
import { markClientRevoked } from '../../apps/api/clients/records.ts'
import { replaceInvitation } from '../../apps/api/people/invitations.ts'
import { insertPasswordReset } from '../../apps/api/sessions/password-resets.ts'
import { insertSession } from '../../apps/api/sessions/sessions.ts'
import { TEST_INTERNET } from '../api/callbacks/sending.ts'
import { reviseDays } from '../support/analytics.ts'
import { TEST_PASSWORD } from '../support/api.ts'
import { createTestUsage } from '../support/client-usage.ts'
import { assertLongTextsFit, lengthenAnswers, lengthened } from '../support/long-texts.ts'
import { ACME, recordedStories, STORY_TIME, type Story, type StoryWorkspace } from '../support/story.ts'
import { assertLooksRight, loseAnswer } from '../support/workspace.ts'
import seeds from './words-company.json' with { type: 'json' }

const CLIENT = { clientId: `cli_${'a'.repeat(22)}`, vendorId: 'ven_still' }
const TOKEN = { route: 'POST /v1/oauth/token', address: '192.0.2.7', proven: true }
const NEW_PASSWORD = 'wrong donkey capacitor'
const UNRESOLVED = 'https://hooks.tokyo.example/a'
const RESET = `pwr_${'a'.repeat(43)}`
const MAILS = { builtInAccounts: true, mail: true, openid: null }
const OPENID = { ...MAILS, openid: { name: 'Acme ID' } }
const AT = Date.parse(STORY_TIME)
const hoursAgo = (hours: number) => new Date(AT - hours * 3_600_000)

const { own, story } = recordedStories(new URL('words-company.txt', import.meta.url), {
  differences: [[/(?<=(?:inv|pwr|ias)_)\w{15,}|(?<=\bends in )\w{4}\b/g, '…']],
  // No one takes the mails, which go on waiting.
  api: { internet: TEST_INTERNET, env: { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'a@operator.example' } },
  async prepare(workspace) {
    await addPeople(workspace)
    await addActivity(workspace)
    await addAnalytics(workspace)
    await addClients(workspace)
  },
})

/** Olivia belongs to all of the companies, beside Acme. */
async function addPeople({ service, people: { owner } }: StoryWorkspace): Promise<void> {
  const { db } = service
  const invited = { role: 'viewer', invitedBy: owner.userId } as const
  for (const { as, ...company } of seeds.companies) {
    await service.createCompany(company)
    const membership = { vendorId: company.vendorId, userId: owner.userId, ...as }
    await saveMembership(db, membership as Parameters<typeof saveMembership>[1])
  }
  for (const person of seeds.people)
    await service.createPerson(person as Parameters<typeof service.createPerson>[0])
  for (const { name, hoursLeft, mail, vendorId = ACME.vendorId } of seeds.invited) {
    const person = { userId: `usr_${name.toLowerCase()}`, name, email: `${name.toLowerCase()}@acme.example` }
    const times = { createdAt: hoursAgo(72 - hoursLeft), expiresAt: hoursAgo(-hoursLeft) }
    await replaceInvitation(db, { ...invited, vendorId, ...person, ...times })
    const topic = { kind: 'invitation', topic: name, user_id: person.userId, vendor_id: ACME.vendorId }
    if (mail) await db('mails').insert({ ...topic, detail: {}, is_urgent: true, ...mail })
  }
}

/** One of each action, then others that read differently. */
async function addActivity({ service }: StoryWorkspace): Promise<void> {
  const each = ACTIVITY_ACTIONS.map((action) => ({ operator: 'root', action, subject: 'the-subject' }))
  const entries = [...each, ...seeds.deeds].map((entry, index, { length }) => ({
    ...{ vendor_id: 'ven_still', detail: seeds.detail, at: hoursAgo((length - index) * 1.6) },
    ...entry,
  }))
  for (const entry of entries) await service.db('activity').insert(entry)
}

async function addAnalytics({ service: { db } }: StoryWorkspace): Promise<void> {
  for (const [vendorId, days] of Object.entries(seeds.reported))
    for (const day of days)
      await db.raw('insert into analytics_daily values (?, ?, ?, ?, ?, ?, ?, ?, ?)', [
        ...[
          vendorId,
          hoursAgo(24 * day)
            .toISOString()
            .slice(0, 10),
          12_345 - 130 * day,
        ],
        ...[1_000 - 90 * (day % 8), (day * 7) % 5, (day * 7) % 5, (day * 199_999) % 1_000_000],
        ...[day % 3 ? 250 : 0, hoursAgo(24 * day + 2)],
      ])
  await reviseDays(db, 'ven_still', 'ven_tokyo')
}

async function addClients({ service: { db, apiDb, redis, clock, ...service } }: StoryWorkspace) {
  for (const [vendorId, updatedBy] of [
    ['ven_tokyo', 'usr_toku'],
    ['ven_still', 'usr_olivia'],
  ] as const) {
    const saved = { callbackUrl: UNRESOLVED, verified: false, updatedAt: hoursAgo(49) }
    await saveDestination(db, { vendorId, ...saved, updatedBy })
  }
  for (const letter of ['a', 'b', 'c']) {
    const client = { ...CLIENT, clientId: CLIENT.clientId.replaceAll('a', letter), createdAt: hoursAgo(99) }
    await service.createClient({ ...client, name: letter === 'b' ? 'Shop 10' : 'Shop 2' })
    if (letter === 'c') await markClientRevoked(db, { ...client, revokedBy: 'usr_olivia' })
  }
  const usage = createTestUsage(await redis.connect('auth'), apiDb, clock)
  for (const request of seeds.requests)
    usage.recordRequest({ ...CLIENT, ...TOKEN, ...request } as AnsweredRequest)
  for (const _ of [1, 2, 3]) await usage.flush()
}

/** Returns what is drawn: bars, lines and their labels. */
const readChart = (chart: Element): string =>
  [...chart.querySelectorAll('p, li, span, path, svg, input')]
    .map((it) => {
      const names = ['style', 'data-status', 'd', 'viewBox', 'aria-valuetext', 'max', 'value']
      const texts = [...it.childNodes].flatMap((node) =>
        node.nodeType === 3 ? (node.textContent ?? '') : [],
      )
      return [it.localName, ...texts, ...names.flatMap((name) => it.getAttribute(name) ?? [])].join(' ')
    })
    .join('\n')

/** Returns which element a press on this one reaches. */
const pressedAt = (it: Element): string => {
  const { left, top } = it.getBoundingClientRect()
  return document.elementFromPoint(left + 9, top + 9)?.localName ?? ''
}

const methods = (page: Page, json: object) => page.route('**/v1/sign-in', (route) => route.fulfill({ json }))
/** Returns what loses the next request to this address, which is not answered until then. */
async function hold(page: Page, url: string): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  await page.route(url, (route) => promise.then(() => route.abort('connectionreset')), { times: 1 })
  return resolve
}
const lose = (page: Page, url: string) =>
  page.route(url, (route) => route.abort('connectionreset'), { times: 1 })

/** Tries the same against one bad answer after the other; 0 is none. */
async function failing(
  { page, step, answer }: Story,
  url: string,
  act: () => unknown,
  statuses: number[],
): Promise<void> {
  const unavailable = { code: 'unavailable', detail: 'The database takes too long.', requestId: 'req-1' }
  for (const status of statuses) {
    const body = status === 429 ? { code: 'rate_limited' } : status === 503 ? unavailable : {}
    if (status === 0) await lose(page, url)
    else await answer(url, status, body, { 'retry-after': '200' })
    await step(`${status === 0 ? 'no answer' : status} of ${url.replace(/.*\//, '')}`, act)
  }
}

/** A step after which a toast is there for a few seconds, and is read first. */
const toasted = ({ page, step, part }: Story, name: string, act: () => Promise<unknown>) =>
  step(name, async () => {
    await act()
    await part(`${name}, toast`, page.locator('[data-toasts] li').last())
  })

const bars = ({ page, compare }: Story, name: string) =>
  compare(name, async () => {
    const here = await page.locator('nav [aria-current=page]').allInnerTexts()
    return `here: ${here}\n${await page.getByRole('banner').ariaSnapshot()}`
  })

/** What a screen shows that was read before, and nothing that changes it by itself. */
async function newestActivity({ page, compare, press }: Story, name: string, most = 10) {
  await press('Activity')
  await compare(name, async () => {
    const told = await page.getByRole('listitem').getByRole('paragraph').allInnerTexts()
    return told.slice(0, most).join('\n')
  })
}

async function downloaded({ page, compare, press }: Story, button: string): Promise<void> {
  const [download] = await Promise.all([page.waitForEvent('download'), press(button)])
  const text = await readFile(await download.path(), 'utf8')
  await compare(`${download.suggestedFilename()}`, async () => text.replaceAll('\r', '␍'))
}

const tell = (title: string, options: Parameters<typeof story>[0], walk: (it: Story) => Promise<void>) =>
  it(title, story(options, walk))

describe('workspace: the words of a company', () => {
  tell('signing in', { path: '/ven_still/activity?person=usr_paul' }, async (it) => {
    const { step, details, look, press, fill, answer } = it
    const send = (password: string) => async () => {
      await fill('Password', password)
      await press('Sign in')
    }
    await step('opens')
    await details('opens')
    await step('nothing typed', () => press('Sign in'))
    await fill('Email address', ' olivia@acme.example')
    await step('no password', () => press('Sign in'))
    await step('wrong password', send('wrong'))
    await look('wrong password')
    await failing(it, '**/v1/session', send('wrong again'), [429, 503, 422, 0])
    await answer('**/v1/session', 429, { code: 'rate_limited' })
    await step('too often, no time', send('a'))
    await step('right', send(TEST_PASSWORD))
  })

  tell('signing in with a provider', { path: '/favicon.svg' }, async (it) => {
    const { page, step, brief, press, compare } = it
    await methods(page, OPENID)
    await page.goto(`${own.baseUrl}/ven_acme/people`)
    await step('opens')
    await failing(it, '**/v1/session/openid', () => press('Sign in with Acme ID'), [503])
    const leaves = await hold(page, '**/v1/session/openid')
    await step('leaves', () => press('Sign in with Acme ID'))
    await step('cannot leave', leaves)
    for (const search of ['?person=usr_paul', `?q=${'a'.repeat(1_000)}`]) {
      await page.goto(`${own.baseUrl}/ven_acme/activity${search}`)
      const sent = page.waitForRequest('**/v1/session/openid')
      await press('Sign in with Acme ID')
      await compare(`led back to ${search.slice(0, 3)}`, async () => (await sent).postData() ?? '')
    }
    await methods(page, { ...OPENID, builtInAccounts: false })
    for (const code of seeds.landings) {
      await page.goto('about:blank')
      await step(`landing ${code}`, () => page.goto(`${own.baseUrl}/ven_acme/people#sign-in=${code}`))
    }
    await lose(page, '**/v1/session')
    await brief('unreachable', () => page.reload())
    await step('reachable again', () => press('Try again'))
  })

  tell('finding one’s way', { role: 'owner' }, async (it) => {
    const { page, step, press, details, look, compare, answer, open } = it
    await step('companies')
    await step('unknown company', () => open('/ven_none/analytics'))
    await step('no company', () => open('/nothing'))
    await step('suspended', () => open('/ven_old/people'))
    await bars(it, 'bars of the suspended')
    await step('a viewer', () => open('/ven_tokyo/people'))
    await bars(it, 'bars of a viewer')
    await step('no page', () => open('/ven_acme/people/nothing/at/all'))
    await step('no page of a company', () => open('/ven_acme/nothing'))
    await step('clients', () => press('Go to OAuth2 Clients'))
    await bars(it, 'bars of an owner')
    await look('bars of an owner', page.getByRole('banner'))
    await page.setViewportSize({ width: 320, height: 800 })
    await bars(it, 'narrow bars of an owner')
    await page.setViewportSize({ width: 1280, height: 900 })
    await step('account', () => press(/olivia@/))
    await details('account')
    await look('account')
    for (const [index, key] of ['ArrowDown', 'End', 'ArrowDown', 'Home', 'ArrowUp', 'Escape'].entries())
      await step(`account, ${index}: ${key}`, () => page.keyboard.press(key))
    await step('dark', () => press(/olivia@/, 'Dark'))
    await step('account, dark', () => press(/olivia@/))
    await press('System')
    await step('people, by the bar', () => press('Callback URL', 'Analytics', 'Activity', 'People'))
    await bars(it, 'bars at people')
    await step('other companies', () => press(/^Acme Outfitters/))
    await step('other company', () => press(/^New & Co/))
    await page.locator('.skip').focus()
    await step('skip link')
    await step('skipped', () => page.keyboard.press('Enter'))
    await step('offline', () => page.context().setOffline(true))
    await compare('pressed through', () => page.getByText('You are offline. What').evaluate(pressedAt))
    await step('offline, elsewhere', () => press('Callback URL', 'People'))
    await page.context().setOffline(false)
    await step('online again')
    const signOut = await hold(page, '**/v1/session')
    await step('signing out', () => press(/olivia@/, 'Sign out'))
    await step('signed out, maybe', signOut)
    await look('signed out, maybe')
    const again = await hold(page, '**/v1/session')
    await step('signing out again', () => press('Sign out again'))
    await step('still signed out, maybe', again)
    await answer('**/v1/session', 401)
    await step('signed out before', () => press('Sign out again'))
    own.people.owner.sessionToken = await own.service.createSession('usr_olivia')
  })

  tell('who may not', { role: 'member' }, async (it) => {
    const { step, open } = it
    const { viewer, admin } = own.people
    await step('a member')
    await bars(it, 'bars of a member')
    for (const path of ['integrations/webhooks', 'analytics', 'activity', 'people', 'explain/req-scope'])
      await step(`a viewer at ${path}`, () => open(`/ven_acme/${path}`, viewer))
    await step('an admin', () => open('/ven_acme/people', admin))
    await bars(it, 'bars of an admin')
    const alone = await own.service.createPerson({ name: 'Lone' })
    await step('no company', () => open('/', alone))
  })

  tell('one’s sessions and password', { path: '/favicon.svg' }, async (it) => {
    const { page, step, part, details, look, press, fill, open, answer, compare } = it
    const given = { vendorId: 'ven_tokyo', role: 'viewer', userId: 'usr_wim', name: 'Wim' } as const
    const wim = await own.service.createPerson({ ...given, email: 'wim@acme.example' })
    for (const { hours, ...session } of seeds.sessions) {
      const times = { tokenHash: hashSecret(`${hours}`), now: hoursAgo(hours) }
      await insertSession(own.service.db, { userId: wim.userId, ...times, ...session })
    }
    await own.service
      .db('sessions')
      .update('created_at', own.service.db.raw(`created_at - interval '1 minute'`))
    await open('/ven_tokyo/explain', wim)
    await page.route(/\/v1\/sessions(?:\?|$)/, (route) => {
      const url = new URL(route.request().url())
      url.searchParams.set('limit', '3')
      return route.continue({ url: url.href })
    })
    await look('initials of one word', page.getByRole('button', { name: /^Wim/ }))
    await step('sessions', () => press(/wim@/, 'Your sessions'))
    await details('sessions')
    await look('sessions')
    await step('more', () => press('Show more'))
    await failing(it, '**/v1/sessions/*', () => press('End session of curl/8'), [503])
    // A proxy has repeated it.
    await page.route('**/v1/sessions/*', (route) => route.fetch().then(() => route.continue()), { times: 1 })
    await step('ended', () => press('End session of curl/8'))
    await step('closed', () => page.keyboard.press('Escape'))
    await step('password', () => press(/wim@/, 'Change your password'))
    await details('password')
    await compare('username', () => page.locator('[name=username]:not([type=hidden])').inputValue())
    await step('nothing typed', () => press('Change password'))
    await assertLooksRight(page)
    const send = (current: string, next: string) => async () => {
      await fill('Current password', current)
      await fill('New password', next)
      await press('Change password')
    }
    await step('short', send('not it', 'elevenchars'))
    await step('wrong', send('not it', NEW_PASSWORD))
    await step('common', send(TEST_PASSWORD, 'password1234'))
    await failing(it, '**/v1/session/password', send(TEST_PASSWORD, NEW_PASSWORD), [429, 500, 0])
    await loseAnswer(page, '**/v1/session/password')
    await step('changed without an answer', () => press('Change password'))
    await step('changed by that', () => press('Change password'))
    await toasted(it, 'changed', send(NEW_PASSWORD, `${NEW_PASSWORD} nail`))
    await press(/wim@/, 'Your sessions')
    const other = await page.context().newPage()
    await other.goto(`${own.baseUrl}/ven_tokyo/explain`)
    await failing(it, '**/v1/session?all=true', () => press('Sign out everywhere'), [503])
    const lost = await hold(page, '**/v1/session?all=true')
    // Escape is the very next event: no timer of the page has run by then.
    await it.control('Sign out everywhere').evaluate((button: HTMLElement) => {
      const { port1, port2 } = new MessageChannel()
      port1.onmessage = () =>
        button.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }))
      button.click()
      port2.postMessage('next')
    })
    await step('no answer of session?all=true', lost)
    // As if the one whose answer was lost had ended them.
    await answer('**/v1/session?all=true', 401, { code: 'unauthenticated' })
    await step('signed out everywhere', () => press('Sign out everywhere'))
    await part('in another tab', other.locator('main'))
    await page.reload()
    await page.route('**/v1/session?all=true', async (route) => {
      assert.equal((await route.fetch()).status(), 204)
      await route.fulfill({ json: { signOutUrl: `${own.baseUrl}/docs` } })
    })
    await press(/wim@/, 'Your sessions', 'Sign out everywhere')
    await page.waitForURL('**/docs')
  })

  tell('a forgotten password', { path: '/favicon.svg' }, async (it) => {
    const { page, step, details, look, press, fill, answer } = it
    await methods(page, { ...MAILS, mail: false })
    await step('no mail', () => page.goto(`${own.baseUrl}/password-reset`))
    await step('back', () => press('Back to signing in'))
    await page.goto(`${own.baseUrl}/password-reset`)
    await page.unroute('**/v1/sign-in')
    await step('opens', () => page.reload())
    await details('opens')
    const ask = (email: string) => async () => {
      await fill('Email address', email)
      await press('Send the link')
    }
    await step('no address', ask('nobody'))
    await failing(it, '**/v1/password-reset', ask('paul@acme.example'), [429, 503, 0])
    const errors = [{ pointer: '/email', detail: 'must be shorter' }]
    await answer('**/v1/password-reset', 422, { code: 'invalid_input', detail: 'Invalid.', errors })
    await step('refused', ask('paul@acme.example'))
    await answer('**/v1/password-reset', 202)
    await step('on its way', ask('paul@acme.example'))
    await step('another', () => press('Try another address'))
    const asked = { userId: 'usr_paul', requestedAt: new Date(AT), now: new Date(AT) }
    await insertPasswordReset(own.service.db, { tokenHash: hashSecret(RESET), ...asked })
    const follow = async () => {
      await page.goto('about:blank')
      await page.goto(`${own.baseUrl}/password-reset#${RESET}`)
    }
    await step('link', follow)
    await details('link')
    await step('reloaded', () => page.reload())
    await follow()
    const set = (password: string) => async () => {
      await fill('New password', password)
      await press('Set the password')
    }
    await step('short', set('short'))
    await look('short')
    await step('common', set('password1234'))
    await failing(it, '**/v1/password-reset/confirm', set(NEW_PASSWORD), [429, 503, 0])
    await step('set', () => press('Set the password'))
    await follow()
    await step('used', set(NEW_PASSWORD))
    await step('a new link', () => press('Get a new link'))
  })

  tell('an invitation', { path: '/favicon.svg' }, async (it) => {
    const { page, step, details, press, fill, answer, open } = it
    await own.service.createCompany({ vendorId: 'ven_guest', name: 'Guest House' })
    const host = await own.service.createPerson({ vendorId: 'ven_guest', name: 'Gil' })
    const follow = async (token: string) => {
      await page.goto('about:blank')
      await page.goto(`${own.baseUrl}/invitation#${token}`)
    }
    const token = await host.invite('kim@acme.example', { role: 'member' })
    await step('opens', () => follow(token))
    await details('opens')
    await step('reloaded', () => page.reload())
    await follow(token)
    await fill('Your name', '')
    await step('nothing typed', () => press('Create an account and join'))
    await step('with an account', () => press('Sign in instead'))
    await details('with an account')
    await step('no password', () => press('Sign in and join'))
    const join = (password: string) => async () => {
      await fill('Password of your account', password)
      await press('Sign in and join')
    }
    await step('too short to be right', join('wrong'))
    await step('wrong', join(NEW_PASSWORD))
    await failing(it, '**/v1/invitation', join('wrong'), [422, 429, 503, 0])
    await step('without one', () => press('Create one'))
    await fill('Your name', 'Kim')
    const create = (password: string) => async () => {
      await fill('Choose a password', password)
      await press('Create an account and join')
    }
    await step('common', create('password1234'))
    await answer('**/v1/invitation', 404, { code: 'invitation_not_valid', detail: 'It was withdrawn.' })
    await step('withdrawn meanwhile', create(NEW_PASSWORD))
    await answer('**/v1/invitation', 401, { code: 'invalid_credentials', detail: 'No.' })
    await step('has an account', create(NEW_PASSWORD))
    await press('Create one')
    await step('joined', create(NEW_PASSWORD))
    await open('/favicon.svg', own.people.viewer)
    const other = await host.invite('lee@acme.example')
    await step('as someone else', () => follow(other))
    const again = await host.invite('vera@acme.example', { role: 'viewer' })
    await step('as oneself', () => follow(again))
    await step('joined as oneself', join(TEST_PASSWORD))
    own.people.viewer.sessionToken = await own.service.createSession('usr_vera')
    await step('used', () => follow(token))
    await follow(other)
    await loseAnswer(page, '**/v1/invitation')
    await step('joined without an answer', create(NEW_PASSWORD))
    await step('used by that', create(NEW_PASSWORD))
    await answer('**/v1/invitation/preview', 429, { code: 'rate_limited' })
    await step('too often', () => follow(token))
  })

  tell('a session that ends', { path: '/favicon.svg' }, async ({ page, step, press, fill, open }) => {
    const { db } = own.service
    const session = { sessionToken: await own.service.createSession('usr_eva') }
    const end = async () => {
      await fill('Callback URL', 'https://typed.acme.com/')
      await db('sessions').where({ user_id: 'usr_eva' }).delete()
      await press('Save callback URL')
    }
    await open('/ven_new/integrations/webhooks', session)
    await step('ended', end)
    await fill('Password', TEST_PASSWORD)
    await step('what was typed', () => press('Sign in'))
    await methods(page, OPENID)
    await page.reload()
    await step('ended, with a provider', end)
  })

  tell('texts as long as they can be', { role: 'owner', path: '/favicon.svg' }, async (it) => {
    const { page, answer } = it
    const session = { tokenHash: hashSecret('long'), now: hoursAgo(0), userAgent: 'curl/8' }
    await insertSession(own.service.db, { userId: 'usr_olivia', ...session })
    const host = await own.service.createOwner({ vendorId: 'ven_long' })
    await lengthenAnswers(page)
    await page.goto(`${own.baseUrl}/`)
    for (const result of seeds.tests.slice(0, 2))
      await answer('**/callback-test', 200, lengthened(result) as object)
    await answer('**/people/*', 200)
    await assertLongTextsFit(it, seeds.long)
    await page.goto(`${own.baseUrl}/invitation#${await host.invite('lee@long.example')}`)
    await assertLongTextsFit(it, [['/invitation'], ['/invitation', 'Sign in instead']])
  })

  tell('a callback URL', { role: 'owner', path: '/ven_acme/integrations/webhooks' }, async (it) => {
    const { page, step, control, details, look, press, fill, answer, open } = it
    const save = (url: string) => async () => {
      await fill('Callback URL', url)
      await press('Save callback URL')
    }
    await step('opens')
    await details('opens')
    await step('no test without one', () => control('Send test event').click({ force: true }))
    await step('no change', () => control('Save callback URL').click({ force: true }))
    await step('typed', () => fill('Callback URL', ' https://hooks.acme.com/b '))
    await look('typed')
    await step('plain', save('http://hooks.acme.com/'))
    await step('typed again', () => fill('Callback URL', 'https://192.0.2.1/'))
    await step('not public', () => press('Save callback URL'))
    await failing(it, '**/callback-url', save('https://hooks.acme.com/b'), [429, 503, 0])
    await toasted(it, 'saved', () => press('Save callback URL'))
    await step('dismissed', () => press('Dismiss'))
    await step('typed another', () => fill('Callback URL', 'https://typed.acme.com/'))
    await failing(it, '**/callback-test', () => press('Send test event'), [429, 503, 0])
    await answer('**/callback-test', 409, { code: 'test_in_progress', detail: 'Wait.' })
    await step('at the same time', () => press('Send test event'))
    for (const [index, result] of seeds.tests.entries()) {
      await answer('**/callback-test', 200, result)
      await step(`test ${index}`, () => press('Send test event'))
    }
    await details('tests')
    await look('tests')
    await step('details', () => press('Details'))
    await step('the first test', () => press(/no connection/))
    for (const second of [10, 11, 12, 13]) {
      await answer('**/callback-test', 200, { ...seeds.tests.at(-1), sentAt: new Date(AT + second * 1_000) })
      await Promise.all([page.waitForResponse('**/callback-test'), press('Send test event')])
    }
    await step('one test more than is kept')
    await step('discarded', () => press('Discard changes'))
    await step('saved another', save('https://other.acme.com/'))
    const mate = { callbackUrl: 'https://mate.acme.com/' }
    await own.people.admin.request('PATCH', 'callback-url', { body: mate })
    const tested = { ...seeds.tests.at(-1), url: mate.callbackUrl, sentAt: new Date(AT + 30_000) }
    await answer('**/callback-test', 200, tested)
    await step('test of what a teammate saved', () => press('Send test event'))
    await loseAnswer(page, '**/callback-url')
    await step('saved without an answer', save('https://lost.acme.com/'))
    const saving = Promise.withResolvers<void>()
    await page.route('**/callback-url', (route) => saving.promise.then(() => route.continue()), { times: 1 })
    await save('https://third.acme.com/')()
    await fill('Callback URL', 'https://fourth.acme.com/')
    await step('typed while saving', saving.resolve)
    await newestActivity(it, 'in the activity, so far')
    await press('Callback URL')
    for (const name of ['fifth', 'sixth', 'seventh', 'eighth']) {
      await save(`https://${name}.acme.com/`)()
      await page.getByRole('region', { name: 'Saved callback URL' }).getByText(name).waitFor()
    }
    const toasts = await page.locator('[data-toasts] li').count()
    assert.ok(toasts <= 3, `${toasts} toasts cover the page`)
    await newestActivity(it, 'in the activity')
    await press('Callback URL')
    await step('emptied', save(''))
    await step('a viewer', () => open('/ven_acme/integrations/webhooks', own.people.viewer))
    await step('unverified', () => open('/ven_tokyo/integrations/webhooks', own.people.owner))
    await step('unverified, of the owner', () => open('/ven_still/integrations/webhooks'))
    await answer('**/callback-test', 200, { ...seeds.tests[0], url: UNRESOLVED })
    await step('tested since', () => press('Send test event'))
    await lose(page, '**/callback-test')
    await step('tested without an answer', () => press('Send test event'))
    await answer('**/callback-url', 403, { code: 'forbidden', detail: 'Only others.' })
    await step('forbidden', () => page.reload())
  })

  tell('activity', { role: 'owner', path: '/ven_new/activity' }, async (it) => {
    const { page, step, details, look, press, answer, open, compare } = it
    const filter = (label: string, option: string) => () =>
      page.getByLabel(label, { exact: true }).selectOption(option)
    await step('nothing yet')
    await page.route('**/activity?*', (route, request) =>
      route.continue({ url: request.url().replace(/limit=\d+/, 'limit=20') }),
    )
    await step('opens', () => open('/ven_still/activity'))
    await details('opens')
    await downloaded(it, 'Export all as CSV')
    await step('more', () => press('Show more'))
    await compare('first of them', () => page.locator(':focus').innerText())
    await step('by the operator', filter('Person', 'Operator of the service'))
    await page.route('**/activity?*', () => {}, { times: 1 })
    await filter('Kind', 'Client created')()
    await page.locator('[aria-busy="true"]').waitFor()
    await press('Clear filters')
    await step('by Paul', filter('Person', 'Paul Nagy'))
    await step('joined', filter('Kind', 'Person joined'))
    await downloaded(it, 'Export these as CSV')
    await step('of a client', filter('Client', 'Shop 10'))
    await press('Clear filters')
    await step('of another', filter('Client', 'Shop 2 (cli_cccccc…), revoked'))
    await step('cleared', () => press('Clear filters'))
    const from = page.getByLabel('From')
    await from.pressSequentially('06062025')
    await compare('from, typed', () => from.inputValue())
    await from.fill('2025-06-17')
    await step('from and to', () => page.getByLabel('To').fill('2025-06-17'))
    await details('from and to')
    await look('from and to')
    await failing(it, '**/activity?*', () => press('Export these as CSV'), [503])
    await answer('**/activity?*', 429, { code: 'rate_limited' })
    await step('too often', filter('Kind', 'Client created'))
    await step('again', () => press('Try again'))
    const search = `person=usr_none&kind=none&client=cli_${'z'.repeat(22)}&to=2025-02-30`
    await step('by address', () => open(`/ven_still/activity?${search}`))
  })

  // Where UTC’s midnight is the day before, and the ranges have days of 23 and of 25 hours.
  tell('analytics', { role: 'owner', path: '/ven_new/analytics', zone: 'America/New_York' }, async (it) => {
    const { page, step, details, look, press, compare, fill, answer, open } = it
    const chart = (name: string) => compare(name, () => page.locator('.chart').evaluate(readChart))
    await step('nothing yet')
    await step('7 days', () => open('/ven_still/analytics?days=7'))
    await details('7 days')
    await look('7 days')
    await chart('chart')
    await step('compared', () => page.getByLabel('Compare with the previous period').check())
    await chart('chart, compared')
    await page.emulateMedia({ media: 'print' })
    await compare('printed', async () => {
      const bars = page.locator('.chart [data-status]')
      const ink = await bars.evaluateAll((all) => all.map((bar) => getComputedStyle(bar).printColorAdjust))
      return `bars: ${[...new Set(ink)]}, navigation: ${await page.locator('nav').isVisible()}`
    })
    await page.emulateMedia({ media: null })
    await step('revenue', () => press(/^Revenue/))
    await chart('chart of revenue')
    await page.getByRole('slider').focus()
    await step('the day before', () => page.keyboard.press('ArrowLeft'))
    await chart('chart of the day before')
    await look('chart of the day before', page.locator('.chart'))
    await downloaded(it, 'Download CSV')
    for (const days of ['30 days', '12 months', '90 days']) await step(days, () => press(days))
    await page.getByLabel('Compare with the previous period').uncheck()
    await step('all days', () => press('Show all 90 days'))
    for (const [first = '', last = ''] of seeds.ranges)
      await step(`from ${first} to ${last}`, async () => {
        await fill('Last day', last)
        await fill('First day', first)
      })
    await step('reloaded', () => page.reload())
    await step('in yen', () => open('/ven_tokyo/analytics?days=7&compare=yes'))
    await chart('chart in yen')
    const reporting = { vendorId: 'ven_new', scopes: ['analytics:write'] } as const
    const clientId = CLIENT.clientId.replaceAll('a', 'n')
    await own.service.createClient({ ...reporting, clientId, name: 'Till', createdAt: hoursAgo(9) })
    const expired = { name: 'Old till', createdAt: hoursAgo(8), expiresAt: hoursAgo(1) }
    await own.service.createClient({ ...reporting, ...expired })
    await step('to report', () => open('/ven_new/analytics', own.people.owner))
    await answer('**/analytics/daily', 429, { code: 'rate_limited' }, { 'retry-after': '1' })
    await step('too often', () => page.reload())
    await look('too often')
    const broken = { status: 500, json: { code: 'internal_error', requestId: 'req-1' } }
    await page.route('**/analytics/daily', (route) => route.fulfill(broken))
    await press('Try again')
    await page.getByText('req-1').waitFor()
    await step('broken')
    await look('broken')
  })

  tell('explaining a refusal', { role: 'owner', path: '/ven_still/explain' }, async (it) => {
    const { page, step, details, look, fill, press, answer, open } = it
    await step('opens')
    await bars(it, 'bars')
    await details('opens')
    await look('opens')
    for (const id of seeds.explained)
      await step(id, async () => {
        await fill('Request id', id)
        await press('Explain')
      })
    await step('again', () => press('Try again'))
    await look('again')
    await assertLooksRight(page)
    await answer('**/refusals/*', 429, { code: 'rate_limited' })
    await step('too often', () => press('Explain'))
    await step('of any company', () => open('/explain/req-forgotten', own.people.owner))
    await step('back', () => page.goBack())
    await page.route('**/ven_new/refusals/*', (route) => route.fulfill({ status: 429, json: {} }))
    await step('too often in one company', () => open('/explain/none', own.people.owner))
  })

  tell('people', { role: 'owner', path: '/favicon.svg' }, async (it) => {
    const { page, step, brief, details, look, press, fill, answer, open } = it
    await methods(page, OPENID)
    await page.route('**/people?limit=*', (route, request) =>
      route.continue({ url: request.url().replace('limit=200', 'limit=3') }),
    )
    await open('/ven_acme/people', own.people.owner)
    await page.getByRole('table').waitFor()
    await press('Activity', 'People')
    await step('opens')
    await details('opens')
    await look('opens')
    await page.clock.setFixedTime(AT + 21 * 3_600_000)
    await step('left open for 21 hours')
    await page.clock.setFixedTime(AT)
    const menu =
      (name: string, ...items: string[]) =>
      async () => {
        await page.keyboard.press('Escape')
        await page.getByRole('dialog').or(page.getByRole('menu')).waitFor({ state: 'detached' })
        await press(`Actions for ${name}`, ...items)
      }
    for (const name of ['Anton Weiss', 'Vera Lindt', 'Mika Sato', 'Sven Ohm', 'Ian'])
      await step(`actions for ${name}`, menu(name))
    for (const [name = '', item = ''] of seeds.asked) {
      await step(`${item}: ${name}`, menu(name, item))
      await look(`${item}: ${name}`)
    }
    await failing(it, '**/people/*', () => press('Make an admin'), [404, 429, 503, 0])
    await toasted(it, 'is an admin', () => press('Make an admin'))
    for (const [name = '', item = ''] of seeds.done) {
      await menu(name, item)()
      await toasted(it, `${item}, ${name}, done`, () => press(item))
    }
    await step('invite', () => press('Invite a person'))
    await details('invite')
    await step('nothing typed', () => press('Send the invitation'))
    await look('nothing typed')
    await assertLooksRight(page)
    await step('typed', () => fill('Name', 'Zoe'))
    await step('a link', () => press('Copy a link instead'))
    await fill('Email address', 'vera@acme.example')
    await step('is here', () => press('Create the link'))
    await fill('Email address', 'zoe@acme.example')
    await press(/^Member/)
    const errors = [{ pointer: '/role', detail: 'must be another' }]
    await answer('**/people', 422, { code: 'invalid_input', detail: 'The body is invalid.', errors })
    await step('no field', () => press('Create the link'))
    await failing(it, '**/people', () => press('Create the link'), [429, 503])
    const listed = Promise.withResolvers<void>()
    await page.route('**/people?limit=*', (route) => listed.promise.then(() => route.fallback()), {
      times: 1,
    })
    await step('link', () => press('Create the link'))
    listed.resolve()
    await assertLooksRight(page)
    await brief('copied', () => press('Copy invitation link'))
    const link = await page.getByRole('dialog').getByRole('code').innerText()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), link)
    await step('done', () => press('Done'))
    await step('again', menu('Zoe', 'Invite again'))
    await details('again')
    await step('again, a link', () => press('Copy a link instead'))
    await menu('Zoe', 'Invite again')()
    await toasted(it, 'mailed', () => press('Send the invitation'))
    await newestActivity(it, 'in the activity, so far', 8)
    await press('People')
    await step('hand over', menu('Anton Weiss', 'Hand over ownership'))
    await details('hand over')
    await look('hand over')
    await assertLooksRight(page)
    const confirm = (name: string) => async () => {
      await fill('Type the new owner’s name to confirm', name)
      await press('Hand over ownership')
    }
    await step('another name', confirm('Anton'))
    await failing(it, '**/people/*', confirm(' anton@acme.example'), [409])
    const tooOld = { code: 'recent_sign_in_required', detail: 'Sign in again.' }
    await answer('**/people/*', 403, tooOld)
    await step('sign in again', () => press('Hand over ownership'))
    await details('sign in again')
    await fill('Your password', 'wrong')
    await step('wrong password', () => press('Hand over ownership'))
    await fill('Your password', TEST_PASSWORD)
    await toasted(it, 'handed over', () => press('Hand over ownership'))
    await newestActivity(it, 'in the activity')
    await methods(page, { ...OPENID, builtInAccounts: false })
    await step('with a provider', () => open('/ven_acme/people', own.people.admin))
    await step('account with a provider', () => press(/anton@/))
    await page.keyboard.press('Escape')
    await press('Actions for Olivia Brandt', 'Hand over ownership')
    await answer('**/people/*', 403, tooOld)
    await step('sign in again, with a provider', confirm('Olivia  Brandt'))
    await failing(it, '**/v1/session/openid', () => press('Sign in with Acme ID'), [503])
    const sent = Promise.withResolvers<void>()
    await loseAnswer(page, '**/people/*')
    await page.route('**/people/*', (route) => sent.promise.then(() => route.fallback()), { times: 1 })
    await press('Hand over ownership')
    const stay = page.getByRole('button', { name: 'Stay the owner', disabled: true })
    await step('being handed over', () => stay.press('Enter'))
    await details('being handed over')
    await toasted(it, 'handed over without an answer', async () => sent.resolve())
  })
})
