import { strict as assert } from 'node:assert'
import type { Page } from 'playwright-core'
import { forBlock } from '../support/block.ts'
import {
  ADMIN,
  api,
  assertAccessible,
  assertFocused,
  CLIENTS,
  clickUntilShown,
  createClient,
  GLOBEX_OWNER,
  invite,
  knownToBrowser,
  sessionToken,
  testSmtp,
  testStack,
  untilReadAgain,
  untilSessionEnds,
  vendorApi,
  visit,
} from '../support/workspace.ts'

const PEOPLE = '/ven_globex/people'
const PASSWORD = 'a password of Kim'
const OWNER_NAME = 'Grace Holloway'

describe('workspace: people', () => {
  const company = forBlock(async () => ({ vendorId: 'ven_globex', token: await sessionToken(GLOBEX_OWNER) }))

  const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })
  async function choose(page: Page, name: string, item: string): Promise<void> {
    await page.getByRole('button', { name: `Actions for ${name}` }).click()
    await page.getByRole('menuitem', { name: item }).click()
  }
  /** Chooses from a person's menu, and confirms. */
  async function change(page: Page, name: string, item: string, button = item): Promise<void> {
    await choose(page, name, item)
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: button, exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
  }
  async function assertReadOnly(page: Page, owner: string): Promise<void> {
    await page.getByText(`Only its owner, ${owner}, can change this.`).waitFor()
    assert.equal(await page.getByRole('button', { name: /^Actions for|^Invite/ }).count(), 0)
  }
  async function fillInvitation(page: Page, name: string, email: string, role = 'Admin'): Promise<void> {
    await page.getByRole('button', { name: 'Invite a person' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill(name)
    await dialog.getByLabel('Email address').fill(email)
    await dialog.getByRole('radio', { name: new RegExp(`^${role}`) }).check()
    await dialog.getByRole('button', { name: 'Send the invitation' }).click()
  }
  async function linkShown(page: Page): Promise<URL> {
    const url = new URL((await page.getByRole('dialog').locator('code').textContent()) ?? '')
    await page.getByRole('button', { name: 'Done' }).click()
    return url
  }

  it('takes a person the whole way: invited, joined, changed, suspended, made the owner, removed', async () => {
    const email = 'kim@globex.example'
    const { page } = await visit({ as: GLOBEX_OWNER, path: PEOPLE })
    await page.getByRole('table', { name: 'People' }).getByText('Owner (you)').waitFor()
    await fillInvitation(page, 'Kim R.', email)
    const toast = page.getByRole('listitem').filter({ hasText: `A mail to ${email} is on its way` })
    await toast.getByRole('button', { name: 'Dismiss' }).waitFor()
    const { text } = await (await testSmtp()).mailTo(email)
    const link = new URL(/http:\S+\/invitation#inv_[0-9A-Za-z]{43}/.exec(text)?.[0] ?? '')
    // Sooner than what does not change by itself is read again.
    const mailed = /^Invited, mailed (?:just now|\d+ \w+ ago), expires in \d+ days$/
    await row(page, 'Kim R.').getByText(mailed).waitFor({ timeout: 15_000 })

    const { page: kim } = await visit({ path: link.pathname + link.hash })
    await kim.getByRole('heading', { name: 'Join Globex Supply', level: 1 }).waitFor()
    await kim.getByText(`${OWNER_NAME} invites you as an admin.`).waitFor()
    assert.equal(new URL(kim.url()).hash, '')
    const known = ['name Kim R.', `username ${email}`, 'new-password ']
    assert.deepEqual(await knownToBrowser(kim), known)
    await kim.getByLabel('Your name').fill('Kim Robertson')
    await kim.getByText('nor guessable from your name, email address or company').waitFor()
    await kim.getByLabel('Choose a password').fill('too short')
    await kim.getByRole('button', { name: 'Create an account and join' }).click()
    await kim.getByText('At least 12 characters; 3 more.').waitFor()
    await kim.getByLabel('Choose a password').fill(PASSWORD)
    await kim.getByRole('button', { name: 'Create an account and join' }).click()
    await kim.getByRole('heading', { name: 'OAuth2 Clients', level: 1 }).waitFor()
    assert.equal(new URL(kim.url()).pathname, '/ven_globex/integrations/oauth2-clients')

    // An admin sees the people, and changes nothing.
    await kim.getByRole('link', { name: 'People' }).click()
    await assertReadOnly(kim, OWNER_NAME)
    await row(kim, 'Kim Robertson').getByText('Admin (you)').waitFor()

    await page.reload()
    await row(page, 'Kim Robertson').getByText('Active').waitFor()
    const dialog = page.getByRole('dialog')
    await choose(page, 'Kim Robertson', 'Make a member')
    await dialog.getByRole('link', { name: 'Show these clients' }).waitFor()
    await dialog.getByRole('button', { name: 'Make a member' }).click()
    await row(page, 'Kim Robertson').getByText('Member').waitFor()
    await kim.reload()
    await kim.getByRole('heading', { name: 'You have no access yet' }).waitFor()
    await change(page, 'Kim Robertson', 'Make an admin')
    await kim.reload()
    await assertReadOnly(kim, OWNER_NAME)
    await change(page, 'Kim Robertson', 'Make a viewer')
    await kim.reload()
    await kim.getByText('Your role in Globex Supply is Viewer.').waitFor()

    await change(page, 'Kim Robertson', 'Suspend')
    await row(page, 'Kim Robertson').getByText('Suspended').waitFor()
    await clickUntilShown(
      kim.getByRole('link', { name: 'Analytics' }),
      kim.getByRole('heading', { name: 'You are suspended' }),
    )
    assert.equal(await kim.getByRole('navigation').count(), 0)
    await page.getByRole('button', { name: 'Actions for Kim Robertson' }).click()
    const items = await page.getByRole('menuitem').allInnerTexts()
    assert.deepEqual(items, ['Make an admin', 'Make a member', 'Lift the suspension', 'Remove'])
    await page.keyboard.press('Escape')
    await change(page, 'Kim Robertson', 'Lift the suspension')

    await choose(page, 'Kim Robertson', 'Hand over ownership')
    await dialog.getByLabel('Type the new owner’s name').fill('Kim')
    await dialog.getByRole('button', { name: 'Hand over ownership' }).click()
    await dialog.getByText('That is not the name.').waitFor()
    await dialog.getByLabel('Type the new owner’s name').fill(' Kim  Robertson ')
    await dialog.getByRole('button', { name: 'Hand over ownership' }).click()
    await dialog.waitFor({ state: 'detached' })
    await assertReadOnly(page, 'Kim Robertson')
    await row(page, OWNER_NAME).getByText('Admin (you)').waitFor()

    await kim.reload()
    await kim.getByRole('link', { name: 'People' }).click()
    await choose(kim, OWNER_NAME, 'Hand over ownership')
    await kim.getByRole('dialog').getByLabel('Type the new owner’s name').fill(GLOBEX_OWNER)
    await kim.keyboard.press('Enter')
    await assertReadOnly(kim, OWNER_NAME)

    const { sessionToken: token } = await api('/v1/session', { body: { email, password: PASSWORD } })
    await createClient({ ...company, token, name: 'Made by Kim' })
    await page.reload()
    await choose(page, 'Kim Robertson', 'Remove')
    await page.getByRole('dialog').getByRole('link', { name: 'Show these clients' }).click()
    await page.getByText('Only clients created by Kim Robertson.').waitFor()
    assert.equal(await page.getByRole('row', { name: /^Made by Kim/ }).count(), 1)
    assert.equal(await page.getByRole('row').count(), 2)
    await page.getByRole('radio', { name: 'Revoked 0' }).check()
    await page.getByText('No client in: Revoked.').waitFor()
    await page.getByRole('radio', { name: 'Active 1' }).check()
    await createClient({ ...company, name: 'Made by Grace' })
    await page.getByRole('button', { name: 'Show clients of everyone' }).click()
    await page.getByRole('row', { name: /^Made by Grace/ }).waitFor()
    await page.getByRole('navigation').getByRole('link', { name: 'People' }).click()
    await change(page, 'Kim Robertson', 'Remove')
    await row(page, 'Kim Robertson').waitFor({ state: 'detached' })
    await untilSessionEnds(kim)
  })

  it('sends an invitation’s secret only with its acceptance, which works once', async () => {
    const path = await invite({ name: 'Noa', email: 'noa@globex.example', role: 'member' }, company)
    const token = path.split('#')[1] as string
    const { page, baseUrl } = await visit({ path: '/favicon.svg' })
    const sent: string[] = []
    page.on('request', async (request) => {
      sent.push(request.url(), JSON.stringify(await request.allHeaders()))
      if (!request.url().includes('/v1/invitation')) sent.push(request.postData() ?? '')
    })
    await page.goto(baseUrl + path)
    await page.getByRole('heading', { name: 'Join Globex Supply' }).waitFor()
    const zone = await page.evaluate(() => Intl.DateTimeFormat().resolvedOptions().timeZone)
    const end = new RegExp(`The link works once, until .+, \\d\\d:\\d\\d ${zone} \\(in \\d+ days\\)\\.`)
    await page.getByText(end).waitFor()
    assert.equal(page.url(), `${baseUrl}/invitation`)
    assert.equal(await page.evaluate(() => document.documentElement.outerHTML.includes('inv_')), false)
    await page.getByLabel('Choose a password').fill(PASSWORD)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'You have no access yet' }).waitFor()
    const kept = await page.evaluate(() => {
      const read = performance.getEntries().map(({ name }) => name)
      return JSON.stringify([sessionStorage, localStorage, history.state, read])
    })
    assert.ok(sent.length > 10)
    const { serviceOutput } = await testStack()
    for (const text of [...sent, kept, serviceOutput()]) assert.equal(text.includes(token), false)
    await page.goBack()
    await page.waitForURL('**/favicon.svg')

    await page.goto(baseUrl + path)
    await page.getByRole('heading', { name: 'This invitation is no longer valid' }).waitFor()
    await page.goto(`${baseUrl}/invitation`)
    await page.getByRole('heading', { name: 'Open your invitation again' }).waitFor()
  })

  it('reads an invitation again on its own once the service answers', async () => {
    const { page, baseUrl } = await visit({ path: '/favicon.svg', clock: true })
    const preview = '**/v1/invitation/preview'
    await page.route(preview, (route) => route.abort('connectionreset'))
    const rea = { name: 'Rea', email: 'rea@globex.example', role: 'admin' }
    await page.goto(baseUrl + (await invite(rea, company)))
    await untilReadAgain(page, page.getByText('The service cannot be reached'))
    await page.unroute(preview)
    await untilReadAgain(page, page.getByRole('heading', { name: 'Join Globex Supply' }))
    await page.goto(`${baseUrl}/invitation#inv_another`)
    await page.getByRole('heading', { name: 'This invitation is no longer valid' }).waitFor()
  })

  it('joins with the password of an existing account, whoever was signed in', async () => {
    const path = await invite({ name: 'Anton W.', email: ADMIN, role: 'admin' }, company)
    const { clientId } = await createClient({ ...company, name: 'Of Globex' })
    const { page, baseUrl } = await visit({ as: GLOBEX_OWNER, path })
    await page.getByText('You are signed in as someone else').waitFor()
    await page.getByRole('button', { name: 'Create an account and join' }).click()
    const mistake = page.getByText('At least 12 characters; 12 more.')
    await mistake.waitFor()
    await page.getByRole('button', { name: 'Sign in instead' }).click()
    assert.equal(await mistake.count(), 0)
    assert.deepEqual(await knownToBrowser(page), [`username ${ADMIN}`, 'current-password '])
    await assertAccessible(page)
    await page.getByLabel('Password of your account').fill('still not it')
    await page.keyboard.press('Enter')
    await page.getByText('The password is incorrect').waitFor()
    const json = { code: 'invalid_credentials' }
    await page.route('**/v1/invitation', (route) => route.fulfill({ status: 401, json }), { times: 1 })
    await page.getByRole('button', { name: 'Create one' }).click()
    await page.getByLabel('Choose a password').fill('not my password')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('You already have an account').waitFor()
    await page.getByLabel('Password of your account').fill((await testStack()).demoPassword)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'OAuth2 Clients', level: 1 }).waitFor()
    assert.match(page.url(), /\/ven_globex\//)
    await page.getByRole('button', { name: ADMIN }).waitFor()

    // Now of two companies, and only one has this client.
    await page.getByRole('link', { name: 'Of Globex' }).click()
    await page.getByRole('heading', { name: 'Of Globex' }).waitFor()
    await page.getByRole('link', { name: 'Activity' }).click()
    await page.getByText('created the client Of Globex').waitFor()
    await page.getByRole('button', { name: 'Globex Supply' }).click()
    await page.getByRole('menuitemradio', { name: 'Acme Outfitters' }).click()
    await page.getByRole('button', { name: 'Acme Outfitters' }).waitFor()
    await page.getByRole('main').getByRole('listitem').first().waitFor()
    assert.equal(await page.getByText('Of Globex').count(), 0)
    await page.evaluate((to) => history.pushState(null, '', to), `${CLIENTS}/${clientId}`)
    await page.getByText('No client with this id in Acme Outfitters').waitFor()
    await page.getByRole('navigation').getByRole('link', { name: 'OAuth2 Clients' }).click()
    await page.getByRole('row').nth(1).waitFor()
    assert.equal(await page.getByText('Of Globex').count(), 0)
    await page.goto(baseUrl)
    await page.getByRole('heading', { name: 'Choose a company' }).waitFor()
    await page.getByRole('link', { name: 'Globex Supply Admin', exact: true }).waitFor()
    const { user } = await api('/v1/session', { token: await sessionToken(ADMIN) })
    await vendorApi(`/people/${user.userId}`, { ...company, method: 'DELETE' })
  })

  it('says what is wrong with an invitation, replaces its link by a new one, and ends it by keyboard', async () => {
    const { page } = await visit({ as: GLOBEX_OWNER, path: PEOPLE, alone: true })
    await fillInvitation(page, '', 'nobody', 'Member')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Enter a name.').waitFor()
    await dialog.getByText('Enter an email address.').waitFor()
    const inPlace = dialog.getByRole('button', { name: 'Copy a link instead' })
    assert.match(await inPlace.evaluate((link) => getComputedStyle(link).textDecoration), /underline/)
    await inPlace.click()
    await dialog.getByLabel('Name').fill('Late')
    await dialog.getByLabel('Email address').fill(GLOBEX_OWNER)
    await dialog.getByRole('button', { name: 'Create the link' }).click()
    await dialog.getByText('This person already belongs to the company.', { exact: true }).waitFor()
    await dialog.getByText('Correct the marked fields.').waitFor()
    assert.equal(await dialog.getByLabel('Email address').getAttribute('aria-invalid'), 'true')
    await dialog.getByLabel('Email address').fill('late@globex.example')
    assert.equal(await dialog.getByLabel('Email address').getAttribute('aria-invalid'), null)
    // No field of the form is marked by it.
    const errors = [{ pointer: '/role', detail: 'must be another' }]
    const json = { code: 'invalid_input', detail: 'The body is invalid; see errors.', errors }
    await page.route('**/people', (route) => route.fulfill({ status: 422, json }), { times: 1 })
    await dialog.getByRole('button', { name: 'Create the link' }).click()
    await dialog.getByRole('alert').getByText('be another. About this error invalid_input').waitFor()
    await dialog.getByRole('button', { name: 'Create the link' }).click()
    const first = await linkShown(page)

    await choose(page, 'Late', 'Invite again')
    await dialog.getByRole('button', { name: 'Copy a link instead' }).click()
    assert.equal(await dialog.getByLabel('Email address').inputValue(), 'late@globex.example')
    assert.equal(await dialog.getByLabel('Email address').isEditable(), false)
    assert.equal(await dialog.getByRole('radio', { name: /^Member/ }).isChecked(), true)
    await page.route('**/people?*', async (route) => {
      const response = await route.fetch()
      const body = (await response.text()).replaceAll('"mail":null', '"mail":"failed"')
      await route.fulfill({ response, body })
    })
    await dialog.getByRole('button', { name: 'Create the link' }).click()
    const second = await linkShown(page)
    await row(page, 'Late').getByText('The invitation could not be mailed').waitFor()
    const valid = async ({ hash }: URL) =>
      (await api('/v1/invitation/preview', { body: { token: hash.slice(1) } })).email !== undefined
    assert.deepEqual([await valid(first), await valid(second)], [false, true])

    await page.getByRole('button', { name: 'Actions for Late' }).focus()
    await page.keyboard.press('Enter')
    await assertFocused(page, 'Invite again')
    await page.keyboard.press('End')
    await assertFocused(page, 'Withdraw the invitation')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: /^Withdraw .+ Late/, description: /^late@/ }).waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await assertFocused(page, 'Actions for Late')
    await page.clock.setFixedTime(Date.now() + 30 * 86_400_000)
    await page.reload()
    await page.getByRole('link', { name: 'Activity' }).click()
    await page.getByRole('main').getByRole('listitem').first().waitFor()
    await page.getByRole('link', { name: 'People' }).click()
    await row(page, 'Late')
      .getByText(/^Invitation expired \d+ days ago$/)
      .waitFor()
    await change(page, 'Late', 'Withdraw the invitation')
    await row(page, 'Late').waitFor({ state: 'detached' })
    await assertFocused(page, 'People')
    assert.equal(await valid(second), false)
    // Sooner than it is read again anyway, and nothing grows old by a clock that stands still.
    await page.getByRole('link', { name: 'Activity' }).click()
    await page.getByText('withdrew the invitation of Late').waitFor({ timeout: 15_000 })
  })
})
