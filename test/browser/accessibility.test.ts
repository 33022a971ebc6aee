import { strict as assert } from 'node:assert'
import type { Locator, Page } from 'playwright-core'
import { eventually } from '../support/eventually.ts'
import { fillClient, submitClient } from '../support/reveal.ts'
import { EVERYTHING } from '../support/tier.ts'
import {
  api,
  assertAccessible,
  assertFits,
  createClient,
  leaveVisits,
  MEMBER,
  newSession,
  OWNER,
  requestToken,
  sessionToken,
  untilExplained,
  untilUsed,
  type Visit,
  visit,
} from '../support/workspace.ts'

const CLIENTS = '/ven_acme/integrations/oauth2-clients'
const PEOPLE = '/ven_acme/people'

interface State {
  name: string
  as?: string
  path: string | (() => Promise<string>)
  /** Brings the page there. */
  reach: (page: Page) => Promise<unknown>
  /** The page is loaded for it: what it shows has just been made, and was read before. */
  anew?: true
  /** Its dialog is not closed by Escape. */
  stays?: true
}

/** The widest and the narrowest window, and under `test:all` those between, where the layout changes. */
const WIDTHS = EVERYTHING ? [1600, 900, 360, 320] : [1600, 320]

const dialog = (page: Page) => page.getByRole('dialog')
const heading = (name: string) => (page: Page) => page.getByRole('heading', { name, level: 1 }).waitFor()

const STATES: State[] = [
  { name: 'sign in', path: '/', reach: heading('Sign in') },
  {
    name: 'sign in, refused',
    path: '/',
    async reach(page) {
      await page.getByLabel('Email address').fill('nobody@acme.example')
      await page.getByLabel('Password').fill('wrong')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('alert').waitFor()
    },
  },
  {
    name: 'an invitation, with mistakes',
    anew: true,
    path: newInvitation,
    async reach(page) {
      await page.getByRole('button', { name: 'Create an account and join' }).click()
      await page.getByText('At least 12 characters; 12 more.').waitFor()
    },
  },
  {
    name: 'forgotten password, with a mistake',
    path: '/password-reset',
    anew: true,
    async reach(page) {
      await page.getByRole('button', { name: 'Send the link' }).click()
      await page.getByText('Enter your email address.').waitFor()
    },
  },
  {
    name: 'new password, with a link that no longer works',
    path: `/password-reset#pwr_${'a'.repeat(43)}`,
    anew: true,
    async reach(page) {
      await page.getByLabel('New password').fill('wrong donkey capacitor nail')
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Get a new link' }).waitFor()
    },
  },
  { name: 'not for a member', as: MEMBER, path: CLIENTS, reach: heading('You have no access yet') },
  {
    name: 'not one of my companies',
    as: OWNER,
    path: '/ven_other',
    reach: heading('Not one of your companies'),
  },
  { name: 'no such page', as: OWNER, path: '/ven_acme/nothing', reach: heading('Page not found') },
  {
    name: 'the people, and what can be done',
    as: OWNER,
    path: PEOPLE,
    async reach(page) {
      await page.getByRole('button', { name: 'Actions for Anton Weiss' }).click()
      await page.getByRole('menuitem', { name: 'Suspend' }).waitFor()
    },
  },
  {
    name: 'inviting, with mistakes',
    as: OWNER,
    path: PEOPLE,
    async reach(page) {
      await page.getByRole('button', { name: 'Invite a person' }).click()
      await dialog(page).getByRole('button', { name: 'Send the invitation' }).click()
      await dialog(page).getByText('Enter a name.').waitFor()
    },
  },
  {
    name: 'the link of an invitation',
    as: OWNER,
    path: PEOPLE,
    async reach(page) {
      await page.getByRole('button', { name: 'Invite a person' }).click()
      await dialog(page).getByLabel('Name').fill('Ines Looked-At')
      await dialog(page).getByLabel('Email address').fill('ines@acme.example')
      await dialog(page).getByRole('button', { name: 'Copy a link instead' }).click()
      await dialog(page).getByRole('button', { name: 'Create the link' }).click()
      await dialog(page).getByRole('button', { name: 'Copy invitation link' }).waitFor()
    },
  },
  {
    name: 'handing over, with a mistake',
    as: OWNER,
    path: PEOPLE,
    async reach(page) {
      await page.getByRole('button', { name: 'Actions for Anton Weiss' }).click()
      await page.getByRole('menuitem', { name: 'Hand over ownership' }).click()
      await dialog(page).getByRole('button', { name: 'Hand over ownership' }).click()
      await dialog(page).getByText('That is not the name.').waitFor()
    },
  },
  {
    name: 'a refusal that is not on record',
    as: OWNER,
    path: '/ven_acme/explain/unknown',
    reach: (page) => page.getByText('No request with this id on record').waitFor(),
  },
  { name: 'clients', as: OWNER, path: CLIENTS, reach: (page) => page.getByRole('row').nth(1).waitFor() },
  {
    name: 'account menu',
    as: OWNER,
    path: CLIENTS,
    async reach(page) {
      await page.getByRole('button', { name: OWNER }).click()
      await page.getByRole('menuitem', { name: 'Sign out', exact: true }).waitFor()
    },
  },
  {
    name: 'one’s sessions',
    as: OWNER,
    path: CLIENTS,
    async reach(page) {
      await page.getByRole('button', { name: OWNER }).click()
      await newSession(OWNER)
      await page.getByRole('menuitem', { name: 'Your sessions' }).click()
      await dialog(page)
        .getByRole('button', { name: /^End session/ })
        .first()
        .waitFor()
    },
  },
  {
    name: 'change one’s password, with mistakes',
    as: OWNER,
    path: CLIENTS,
    async reach(page) {
      await page.getByRole('button', { name: OWNER }).click()
      await page.getByRole('menuitem', { name: 'Change your password' }).click()
      await page.keyboard.press('Enter')
      await dialog(page).getByText('Enter your current password.').waitFor()
    },
  },
  {
    name: 'create a client, with mistakes',
    as: OWNER,
    path: CLIENTS,
    async reach(page) {
      await page.getByRole('button', { name: 'Create client' }).click()
      await submitClient(page)
      await dialog(page).getByText('Give it a name.').waitFor()
    },
  },
  {
    name: 'create a client with a key of one’s own, with mistakes',
    as: OWNER,
    path: CLIENTS,
    async reach(page) {
      await page.getByRole('button', { name: 'Create client' }).click()
      await dialog(page)
        .getByRole('radio', { name: /of your own/ })
        .check()
      await submitClient(page)
      await dialog(page).getByText('Paste the public key.', { exact: true }).waitFor()
    },
  },
  {
    name: 'analytics',
    as: OWNER,
    path: '/ven_acme/analytics',
    reach: (page) => page.locator('.chart ol').waitFor(),
  },
  {
    name: 'activity, filtered',
    as: OWNER,
    path: '/ven_acme/activity?to=2100-01-01',
    async reach(page) {
      await page.getByRole('listitem').nth(5).waitFor()
      await page.getByRole('button', { name: 'Clear filters' }).waitFor()
    },
  },
  {
    name: 'analytics, compared',
    as: OWNER,
    // The rows of more days are of the same kinds.
    path: '/ven_acme/analytics?days=7&compare=yes',
    reach: (page) => page.getByText('Compared with').waitFor(),
  },
  {
    name: 'a search that finds nothing',
    as: OWNER,
    path: `${CLIENTS}?q=nothing-like-it`,
    reach: (page) => page.getByText('No client matches').waitFor(),
  },
  {
    name: 'the palette',
    as: OWNER,
    path: CLIENTS,
    async reach(page) {
      await page.getByRole('row').nth(1).waitFor()
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox').fill('client')
      await page.getByRole('option').first().waitFor()
    },
  },
  { name: 'webhooks', as: OWNER, path: '/ven_acme/integrations/webhooks', reach: heading('Callback URL') },
  {
    name: 'a refusal, explained',
    as: OWNER,
    path: async () => {
      const client = await newClient('Explained')
      const { requestId } = await requestToken({ ...client, clientSecret: 'wrong' })
      await untilExplained(await sessionToken(OWNER), requestId)
      return `/ven_acme/explain/${requestId}`
    },
    reach: (page) => page.getByText('401 invalid_client').first().waitFor(),
  },
  {
    name: 'a client',
    as: OWNER,
    path: async () => `${CLIENTS}/${(await newClient('Looked at')).clientId}`,
    reach: heading('Looked at'),
  },
  {
    name: 'revoking, with a mistake',
    as: OWNER,
    path: async () => `${CLIENTS}/${(await newClient('Nearly revoked')).clientId}`,
    async reach(page) {
      await page.getByRole('button', { name: 'Revoke' }).click()
      await dialog(page).getByRole('button', { name: 'Revoke permanently' }).click()
      await dialog(page).getByText('That is not the name.').waitFor()
    },
  },
  {
    name: 'a revoked client',
    as: OWNER,
    path: async () => {
      const { clientId } = await newClient('Gone')
      const token = await sessionToken(OWNER)
      await api(`/v1/vendor/ven_acme/oauth-clients/${clientId}/revoke`, { token, method: 'POST' })
      return `${CLIENTS}/${clientId}`
    },
    reach: (page) => page.getByText('This client is revoked').waitFor(),
  },
  {
    name: 'the secret',
    as: OWNER,
    path: CLIENTS,
    stays: true,
    async reach(page) {
      await fillClient(page, 'Accessible', 'Read boosts')
      await submitClient(page)
      await dialog(page).getByText('Client secret').waitFor()
      await page.keyboard.press('Escape')
      await dialog(page).getByText('once this is closed, the secret is gone').waitFor()
    },
  },
  {
    name: 'the private key',
    as: OWNER,
    path: CLIENTS,
    stays: true,
    async reach(page) {
      await fillClient(page, 'Accessible key', 'Read boosts')
      await dialog(page)
        .getByRole('radio', { name: /created in this browser/ })
        .check()
      await submitClient(page)
      await dialog(page).getByRole('button', { name: 'Download' }).waitFor()
      await page.keyboard.press('Escape')
      await dialog(page).getByText('once this is closed, the private key is gone').waitFor()
    },
  },
  {
    name: 'rotation, begun',
    anew: true,
    as: OWNER,
    path: async () => `${CLIENTS}/${(await newClient('Rotated')).clientId}/rotate`,
    reach: (page) => page.getByRole('button', { name: 'Create replacement' }).waitFor(),
  },
  {
    name: 'rotation, watched',
    anew: true,
    as: OWNER,
    path: async () => {
      const old = await newClient('Watched')
      const replacement = await newClient('Watched 2', old.clientId)
      await requestToken(old)
      await requestToken(replacement)
      const token = await sessionToken(OWNER)
      for (const { clientId } of [old, replacement]) await untilUsed(token, clientId)
      return `${CLIENTS}/${old.clientId}/rotate`
    },
    reach: (page) => page.getByText(/^Last used on .+First used on/).waitFor(),
  },
  {
    name: 'a client that takes over, with its evidence',
    anew: true,
    as: OWNER,
    path: async () => {
      const old = await newClient('Handing over')
      const replacement = await newClient('Taking over', old.clientId)
      await requestToken(replacement)
      const { requestId } = await requestToken({ ...replacement, clientSecret: 'wrong' })
      const token = await sessionToken(OWNER)
      await untilUsed(token, replacement.clientId)
      await untilExplained(token, requestId)
      return `${CLIENTS}/${replacement.clientId}`
    },
    reach: async (page) => {
      await page.getByText(/^This client replaces /).waitFor()
      await page.getByText(/1 token issued/).waitFor()
      await page.getByRole('button', { name: /^401 invalid_client/ }).waitFor()
    },
  },
  {
    name: 'the two clients of a rotation in the list',
    anew: true,
    as: OWNER,
    path: async () => {
      const old = await newClient('Listed')
      await newClient('Listed 2', old.clientId)
      return CLIENTS
    },
    reach: (page) => page.getByRole('link', { name: 'Being replaced by Listed 2' }).waitFor(),
  },
]

describe('workspace: accessible in both themes, as wide as the window, the documentation one click away', () => {
  let tab: Visit | undefined
  /** Whose tab it is. */
  let person: string | undefined
  const leave = async () => {
    const left = tab
    tab = undefined
    await left?.leave()
  }
  afterEach(async function () {
    if (this.currentTest?.state === 'failed') await leave()
  })
  after(leave)

  /** Continues in the last state's tab where possible: loading the page and axe takes most of the time. */
  async function enter({ as, path: given, anew }: State): Promise<Visit> {
    const path = typeof given === 'string' ? given : await given()
    if (!tab || anew || as !== person) {
      await leave()
      tab = await visit({ ...(as && { as }), path })
      person = as
      return tab
    }
    await tab.page.setViewportSize({ width: 1280, height: 900 })
    await tab.page.emulateMedia({ colorScheme: 'light' })
    await tab.page.evaluate((address) => history.pushState(null, '', address), path)
    return tab
  }

  for (const state of STATES) {
    it(`passes axe and fits every width: ${state.name}`, async () => {
      const { page, troubles } = await enter(state)
      await state.reach(page)
      await assertAccessible(page)
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 })
        await assertFits(page)
        assert.ok(await page.locator('header a[href="/docs"]').isVisible(), `no documentation at ${width}`)
      }
      // The other theme changes colours, and nothing else.
      if (EVERYTHING) {
        await page.emulateMedia({ colorScheme: 'dark' })
        await assertAccessible(page, ['color-contrast'])
      }
      assert.deepEqual(troubles, [])
      if (state.stays) return leave()
      const over = page.getByRole('dialog').or(page.getByRole('menu'))
      if ((await over.count()) === 0) return
      await page.keyboard.press('Escape')
      await over.waitFor({ state: 'detached' })
    })
  }
})

const SIZES = [
  [1024, 768],
  [390, 844],
  [320, 568],
] as const

describe('workspace: what axe does not see', () => {
  afterEach(leaveVisits)

  it('says why a control cannot be used when it is touched', async () => {
    const { page } = await visit({
      as: OWNER,
      path: '/ven_acme/integrations/webhooks',
      width: 390,
      height: 844,
    })
    await page.getByRole('button', { name: 'Save callback URL' }).click({ force: true })
    const reason = page.locator('.button-reason')
    await reason.waitFor()
    assert.match(await reason.innerText(), /No changes to save/)
  })

  it('keeps a new client’s dialogs in the middle, their buttons in view at each size, and no two with one name', async () => {
    const { page } = await visit({ as: OWNER, path: CLIENTS })
    const inViewAtEachSize = async (button: Locator) => {
      for (const [width, height] of SIZES) {
        await page.setViewportSize({ width, height })
        await assertInView(button, height)
      }
    }
    await page.getByRole('button', { name: 'Create client' }).click()
    // Whether or not it is taller than the window.
    for (const height of [600, 1600]) {
      await page.setViewportSize({ width: 1440, height })
      const { x, width } = (await dialog(page).boundingBox()) as { x: number; width: number }
      assert.ok(Math.abs(x + width / 2 - 720) <= 1, `its middle is at ${x + width / 2}`)
    }
    const create = dialog(page).getByRole('button', { name: 'Create client' })
    await inViewAtEachSize(create)
    await dialog(page).getByLabel('Name').fill('In view')
    await dialog(page).getByRole('checkbox').first().check()
    await create.click()
    await dialog(page).getByText('Client secret').waitFor()
    await inViewAtEachSize(dialog(page).getByRole('button', { name: 'Done' }))
    await page.setViewportSize({ width: 1440, height: 900 })
    const secret = dialog(page)
      .getByText(/^ias_\w+$/)
      .first()
    const lines = () =>
      secret.evaluate((it) => {
        const text = document.createRange()
        text.selectNodeContents(it)
        return text.getClientRects().length
      })
    await eventually(async () => (await lines()) === 1, { otherwise: () => 'the secret is on several lines' })
    const names = await dialog(page)
      .getByRole('button')
      .evaluateAll((buttons) => buttons.map((it) => it.getAttribute('aria-label') ?? it.textContent))
    assert.equal(new Set(names).size, names.length, names.join(', '))
    await dialog(page).getByRole('button', { name: 'Done' }).click({ force: true })
    await dialog(page).getByText('Tick the box first: once').waitFor()
  })

  it('keeps no bar and never scrolls sideways at 400 % zoom, and shows choices and the chart’s legend in forced colours', async () => {
    const { page, baseUrl } = await visit({ as: OWNER, path: '/ven_acme/analytics', width: 320, height: 256 })
    await page.locator('.chart ol').waitFor()
    await assertFits(page)
    await page.evaluate(() => window.scrollTo(0, 600))
    for (const bar of ['banner', 'navigation'] as const) {
      const box = (await page.getByRole(bar).boundingBox()) as { y: number; height: number }
      assert.ok(box.y + box.height <= 0, `the ${bar} ends at ${box.y + box.height}`)
    }

    await page.setViewportSize({ width: 1280, height: 900 })
    await page.emulateMedia({ forcedColors: 'active' })
    const outlined = (selector: string) =>
      page
        .locator(selector)
        .first()
        .evaluate((it) => getComputedStyle(it).outlineStyle)
    for (const chosen of ['.total:has(:checked)', 'nav [aria-current]', '.segment:has(:checked) span']) {
      assert.equal(await outlined(chosen), 'solid', chosen)
    }
    const ground = await page
      .locator('[data-status=final]')
      .first()
      .evaluate((it) => getComputedStyle(it).backgroundColor)
    const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    assert.notEqual(ground, paper)
    await page.goto(`${baseUrl}${CLIENTS}/${(await newClient('Outlined')).clientId}`)
    await page.locator('[data-tone=good]').first().waitFor()
    const dot = (selector: string) =>
      page
        .locator(selector)
        .first()
        .evaluate((it) => getComputedStyle(it, '::before').backgroundColor)
    assert.notEqual(await dot('[data-tone=good]'), paper)
  })
})

/** What follows the size of the window may need a frame or two. */
async function assertInView(button: Locator, height: number): Promise<void> {
  let end = 0
  await eventually(
    async () => {
      const box = (await button.boundingBox()) as { y: number; height: number }
      end = box.y + box.height
      return end <= height
    },
    { otherwise: () => `ends at ${end}` },
  )
}

const newClient = async (name: string, replaces?: string) =>
  createClient(await sessionToken(OWNER), { name, ...(replaces && { replaces }) })

async function newInvitation(): Promise<string> {
  const { invitationUrl } = await api('/v1/vendor/ven_acme/people', {
    token: await sessionToken(OWNER),
    body: { name: 'Vera Invited', email: 'vera@acme.example', role: 'member', deliver: 'link' },
  })
  const { pathname, hash } = new URL(invitationUrl)
  return pathname + hash
}
