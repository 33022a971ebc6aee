import { strict as assert } from 'node:assert'
import type { Page } from 'playwright-core'
import { forBlock } from '../support/block.ts'
import {
  ADMIN,
  api,
  CLIENTS,
  clickUntilShown,
  createClient,
  GLOBEX_OWNER,
  invite,
  join,
  sessionToken,
  testSmtp,
  testStack,
  untilReadAgain,
  untilReported,
  vendorApi,
  visit,
} from '../support/workspace.ts'

const PEOPLE = '/ven_globex/people'
const PASSWORD = 'a password of Kim'

describe('workspace: people', () => {
  const company = forBlock(async () => ({ vendorId: 'ven_globex', token: await sessionToken(GLOBEX_OWNER) }))

  const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })
  /** Chooses from a person's menu, and confirms. */
  async function change(page: Page, name: string, item: string): Promise<void> {
    await page.getByRole('button', { name: `Actions for ${name}` }).click()
    await page.getByRole('menuitem', { name: item }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: item, exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
  }

  it('takes a person from the mailed invitation to the removal, and their screen follows', async () => {
    const email = 'kim@globex.example'
    // Nothing is read again but what the screens ask for, and a mail that is on its way.
    const { page } = await visit({ as: GLOBEX_OWNER, path: PEOPLE, at: new Date().toISOString() })
    await page.getByRole('table', { name: 'People' }).getByText('Owner (you)').waitFor()
    await page.getByRole('button', { name: 'Invite a person' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Kim R.')
    await dialog.getByLabel('Email address').fill(email)
    const submit = (form: HTMLFormElement) => [1, 2].map(() => form.requestSubmit())
    const posts: string[] = []
    page.on('request', (request) => void (request.method() === 'POST' && posts.push(request.url())))
    await dialog.locator('form').evaluate(submit)
    const toast = page.getByRole('listitem').filter({ hasText: `An email to ${email} is on its way` })
    await toast.getByRole('button', { name: 'Dismiss' }).waitFor()
    assert.equal(posts.filter((url) => url.endsWith('/people')).length, 1)
    const { text } = await (await testSmtp()).mailTo(email)
    const link = new URL(/http:\S+\/invitation#inv_[0-9A-Za-z]{43}/.exec(text)?.[0] ?? '')
    const mailed = /^Invited, emailed (?:just now|\d+ \w+ ago), expires in \d+ days$/
    await row(page, 'Kim R.').getByText(mailed).waitFor()

    const { page: kim } = await visit({ path: link.pathname + link.hash })
    await kim.getByRole('heading', { name: 'Join Globex Supply', level: 1 }).waitFor()
    assert.equal(new URL(kim.url()).hash, '')
    await kim.getByLabel('Your name').fill('Kim Robertson')
    await kim.getByLabel('Choose a password').fill(PASSWORD)
    await kim.getByRole('button', { name: 'Create an account and join' }).click()
    await kim.getByRole('heading', { name: 'OAuth2 Clients', level: 1 }).waitFor()
    assert.equal(new URL(kim.url()).pathname, '/ven_globex/integrations/oauth2-clients')

    await page.reload()
    await change(page, 'Kim Robertson', 'Suspend')
    await row(page, 'Kim Robertson').getByText('Suspended').waitFor()
    await clickUntilShown(
      kim.getByRole('link', { name: 'Analytics' }),
      kim.getByRole('heading', { name: 'You are suspended' }),
    )
    assert.equal(await kim.getByRole('navigation').count(), 0)
    await change(page, 'Kim Robertson', 'Remove')
    await row(page, 'Kim Robertson').waitFor({ state: 'detached' })
    await kim.reload()
    await kim.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor()
  })

  it('sends an invitation’s secret only with its acceptance', async () => {
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
    let asked = 0
    page.on('request', (request) => void (request.url().endsWith('/preview') && asked++))
    await page.goto(`${baseUrl}/invitation#inv_another`)
    await page.getByRole('heading', { name: 'This invitation is no longer valid' }).waitFor()
    await page.clock.fastForward(60_000)
    await untilReported(page)
    assert.equal(asked, 1, 'asked again for what is refused')
  })

  it('shows nothing of one company of a person in the other', async () => {
    const path = await invite({ name: 'Anton W.', email: ADMIN, role: 'admin' }, company)
    await join(path, (await testStack()).demoPassword)
    const { clientId } = await createClient({ ...company, name: 'Of Globex' })
    const { page, baseUrl } = await visit({ as: ADMIN, path: '/ven_globex/integrations/oauth2-clients' })
    await page.getByRole('link', { name: 'Of Globex' }).click()
    await page.getByRole('heading', { name: 'Of Globex' }).waitFor()
    await page.getByRole('link', { name: 'Activity' }).click()
    await page.getByText('created the client Of Globex').waitFor()
    await page.getByRole('link', { name: 'People' }).click()
    await page.getByText(GLOBEX_OWNER).waitFor()
    await page.route('**/ven_acme/people*', () => {})
    await page.getByRole('button', { name: 'Globex Supply' }).click()
    await page.getByRole('menuitemradio', { name: 'Acme Outfitters' }).click()
    await page.getByRole('button', { name: 'Acme Outfitters' }).waitFor()
    assert.equal(await page.getByText(GLOBEX_OWNER).count(), 0)
    await page.getByRole('link', { name: 'Activity' }).click()
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
})
