import { strict as assert } from 'node:assert'
import type { Locator, Page } from 'playwright-core'
import { eventually } from '../support/eventually.ts'
import { recordedTexts } from '../support/recorded.ts'
import { fillClient, readReveal, submitClient } from '../support/reveal.ts'
import { EVERYTHING } from '../support/tier.ts'
import { readWords } from '../support/words.ts'
import {
  assertAccessible,
  assertFits,
  CLIENTS,
  createClient,
  invite,
  MEMBER,
  newSession,
  OWNER,
  type Visit,
  visit,
} from '../support/workspace.ts'

const PEOPLE = '/ven_acme/people'

interface State {
  /** Default: the owner of Acme. null: no one is signed in. */
  as?: string | null
  /** Default: the list of clients. */
  path?: string | (() => Promise<string>)
  /** Brings the page there. */
  reach: (page: Page) => Promise<unknown>
  /** The page is loaded for it: what it shows has just been made, and was read before. */
  anew?: true
  /** Its dialog is not closed by Escape. */
  stays?: true
  /** It shows what other tests made, or the figures of a day. */
  varies?: true
}

const { eventuallyRecorded } = recordedTexts(new URL('accessibility.words.txt', import.meta.url), [
  [/(?<=(?:cli|ias|#\w{3})_)[\w-]+|(?<=…|\bends in )[\w-]{4}(?![\w-])/g, '…'],
  // One that looks like another kind of YAML is quoted.
  [/(?<=code: )"[\w-]{43}"|(?<![\w-])[\w-]{43}(?![\w-])|\w{8}(?:-\w{4}){3}-\w{12}/g, 'ID'],
  [/(?<=localhost:)\d+/g, 'PORT'],
  [/\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?|(?:\w{3}, )?\d{1,2} [A-Z]\w{2} \d{4}(?:, \d\d:\d\d(?::\d\d)?)?/g, 'WHEN'],
  [/\b\d\d:\d\d(?::\d\d)?\b|just now|\d+ (?:minute|second)s? ago/g, 'WHEN'],
])

/** The widest and the narrowest window, and under `test:all` those between, where the layout changes. */
const WIDTHS = EVERYTHING ? [1600, 900, 360, 320] : [1600, 320]

const dialog = (page: Page) => page.getByRole('dialog')
const heading = (name: string) => (page: Page) => page.getByRole('heading', { name, level: 1 }).waitFor()
const shows = (text: string | RegExp) => (page: Page) => page.getByText(text).first().waitFor()
/** Presses these buttons and items of menus, and waits until the page shows a text. */
const press = (controls: (string | RegExp)[], text: string | RegExp) => async (page: Page) => {
  for (const name of controls) {
    const [button, item] = [page.getByRole('button', { name }), page.getByRole('menuitem', { name })]
    await button.or(item).last().click()
  }
  await shows(text)(page)
}
const pageOf = (name: string) => async () => `${CLIENTS}/${(await createClient({ name })).clientId}`

const STATES: Record<string, State> = {
  'sign in': { as: null, path: '/', reach: heading('Sign in') },
  'an invitation, with mistakes': {
    as: null,
    anew: true,
    path: () => invite({ name: 'Vera Invited', email: 'vera@acme.example', role: 'member' }),
    reach: press(['Create an account and join'], 'At least 12 characters; 12 more.'),
  },
  'not for a member': { as: MEMBER, reach: heading('You have no access yet') },
  'not one of my companies': { path: '/ven_other', reach: heading('Not one of your companies') },
  'no such page': { path: '/ven_acme/nothing', reach: heading('Page not found') },
  'the people, and what can be done': {
    path: PEOPLE,
    reach: press(['Actions for Anton Weiss'], 'Hand over ownership'),
  },
  clients: { varies: true, reach: (page) => page.getByRole('row').nth(1).waitFor() },
  'account menu': { reach: press([OWNER], 'Your sessions') },
  'one’s sessions': {
    varies: true,
    async reach(page) {
      await newSession(OWNER)
      await press([OWNER, 'Your sessions'], 'End session')(page)
    },
  },
  'create a client, with mistakes': { reach: press(['Create client', 'Create client'], 'Give it a name.') },
  'create a client that trusts a platform': {
    async reach(page) {
      await page.getByRole('button', { name: 'Create client' }).click()
      await dialog(page).getByLabel('No secret: trust a platform').check()
      await dialog(page).getByLabel('Platform', { exact: true }).selectOption('Kubernetes')
      await dialog(page).getByText('Compare a token').click()
      await dialog(page).getByLabel('A token of the platform').fill('no JWT')
    },
  },
  analytics: { varies: true, path: '/ven_acme/analytics', reach: shows(/days reported/) },
  'activity, filtered': {
    varies: true,
    path: '/ven_acme/activity?to=2100-01-01',
    async reach(page) {
      await page.getByRole('listitem').nth(5).waitFor()
      await page.getByRole('button', { name: 'Clear filters' }).waitFor()
    },
  },
  // The rows of more days are of the same kinds.
  'analytics, compared': {
    varies: true,
    path: '/ven_acme/analytics?days=7&compare=yes',
    reach: shows('Compared with'),
  },
  'a search that finds nothing': {
    varies: true,
    path: `${CLIENTS}?q=nothing-like-it`,
    reach: shows('No clients in'),
  },
  'the palette': {
    varies: true,
    async reach(page) {
      await page.getByRole('row').nth(1).waitFor()
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox').fill('client')
      await page.getByRole('option').first().waitFor()
    },
  },
  webhooks: { varies: true, path: '/ven_acme/integrations/webhooks', reach: heading('Callback URL') },
  'a client': { path: pageOf('Looked at'), reach: heading('Looked at') },
  'revoking, with a mistake': {
    path: pageOf('Nearly revoked'),
    reach: press(['Revoke', 'Revoke permanently'], 'That is not the name.'),
  },
  'the secret': {
    stays: true,
    async reach(page) {
      await fillClient(page, 'Accessible', 'Read boosts')
      await submitClient(page)
      await dialog(page).getByText('Client secret').waitFor()
      await page.keyboard.press('Escape')
      await dialog(page).getByText('once this is closed, the secret is gone').waitFor()
    },
  },
  'the private key': {
    stays: true,
    async reach(page) {
      await fillClient(page, 'Accessible key', 'Read boosts')
      await dialog(page).getByLabel('Key pair, created in this browser').check()
      await submitClient(page)
      await dialog(page).getByRole('button', { name: 'Download' }).waitFor()
    },
  },
}

describe('workspace: accessible in both themes, as wide as the window, the documentation one click away', () => {
  let tab: Visit | undefined
  /** Whose tab it is. */
  let person: string | null | undefined
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
  async function enter({ as = OWNER, path: given = CLIENTS, anew }: State): Promise<Visit> {
    const path = typeof given === 'string' ? given : await given()
    if (!tab || anew || as !== person) {
      await leave()
      tab = await visit({ ...(as && { as }), path, stays: true })
      person = as
      return tab
    }
    await tab.page.setViewportSize({ width: 1280, height: 900 })
    await tab.page.emulateMedia({ colorScheme: 'light' })
    await tab.page.evaluate((address) => history.pushState(null, '', address), path)
    return tab
  }

  for (const [name, state] of Object.entries(STATES))
    it(`passes axe and fits every width: ${name}`, async () => {
      const { page, troubles, isIdle } = await enter(state)
      await state.reach(page)
      await assertAccessible(page)
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 })
        await assertFits(page)
        if (!state.varies) await eventuallyRecorded(name, () => readWords(page), isIdle)
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
})

describe('workspace: what axe does not see', () => {
  it('keeps a new client’s dialogs in the middle, and their buttons in view at each size', async () => {
    const { page } = await visit({ as: OWNER, path: CLIENTS })
    const inViewAtEachSize = async (button: Locator) => {
      // It ends narrow, and so the next step is taken there.
      for (const width of [1024, 320]) {
        const height = width === 320 ? 568 : 768
        await page.setViewportSize({ width, height })
        await assertInView(button, height)
      }
    }
    await fillClient(page, 'In view', 'Read boosts')
    assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).overflowY), 'hidden')
    // Whether or not it is taller than the window.
    for (const height of [600, 1600]) {
      await page.setViewportSize({ width: 1440, height })
      const { x, width } = (await dialog(page).boundingBox()) as { x: number; width: number }
      assert.ok(Math.abs(x + width / 2 - 720) <= 1, `its middle is at ${x + width / 2}`)
    }
    await inViewAtEachSize(dialog(page).getByRole('button', { name: 'Create client' }))
    await submitClient(page)
    const { clientSecret } = await readReveal(page)
    await inViewAtEachSize(dialog(page).getByRole('button', { name: 'Done' }))
    await page.setViewportSize({ width: 1440, height: 900 })
    const secret = dialog(page).getByText(clientSecret, { exact: true })
    const lines = () =>
      secret.evaluate((it) => {
        const text = document.createRange()
        text.selectNodeContents(it)
        return text.getClientRects().length
      })
    await eventually(async () => (await lines()) === 1, { otherwise: () => 'the secret is on several lines' })
  })

  it('keeps no bar and never scrolls sideways at 400 % zoom, and shows choices and the chart’s legend in forced colours', async () => {
    const { page, baseUrl } = await visit({ as: OWNER, path: '/ven_acme/analytics' })
    await page.locator('.chart ol').waitFor()
    // The second is a phone on its side.
    for (const [width, height] of [
      [320, 256],
      [844, 390],
    ] as const) {
      await page.setViewportSize({ width, height })
      await assertFits(page)
      await page.evaluate(() => window.scrollTo(0, 600))
      for (const bar of ['banner', 'navigation'] as const) {
        const box = (await page.getByRole(bar).boundingBox()) as { y: number; height: number }
        assert.ok(box.y + box.height <= 0, `the ${bar} ends at ${box.y + box.height}`)
      }
    }

    await page.setViewportSize({ width: 1280, height: 900 })
    await page.emulateMedia({ forcedColors: 'active' })
    const style = (selector: string, property: 'outlineStyle' | 'backgroundColor', part?: string) =>
      page
        .locator(selector)
        .first()
        .evaluate((it, [property, part]) => getComputedStyle(it, part)[property], [property, part] as const)
    for (const chosen of ['.total:has(:checked)', 'nav [aria-current]', '.segment:has(:checked) span'])
      assert.equal(await style(chosen, 'outlineStyle'), 'solid', chosen)
    const paper = await style('body', 'backgroundColor')
    assert.notEqual(await style('[data-status=final]', 'backgroundColor'), paper)
    await page.goto(baseUrl + CLIENTS)
    await page.locator('search').waitFor()
    assert.equal(await style('search label:has(:checked) span', 'outlineStyle'), 'solid')
    await page.goto(`${baseUrl}${await pageOf('Outlined')()}`)
    await page.locator('[data-tone=good]').first().waitFor()
    assert.equal(await style('[role=tab][data-state=active]', 'outlineStyle'), 'solid')
    assert.notEqual(await style('[data-tone=good]', 'backgroundColor', '::before'), paper)
  })
})

/** What follows the size of the window may need a frame or two. */
async function assertInView(button: Locator, height: number): Promise<void> {
  let end = 0
  const isInView = async () => {
    const box = (await button.boundingBox()) as { y: number; height: number }
    end = box.y + box.height
    return end <= height
  }
  await eventually(isInView, { otherwise: () => `ends at ${end}` })
}
