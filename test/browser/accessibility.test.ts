import type { Page } from 'playwright-core'
import {
  api,
  assertAccessible,
  assertFits,
  createClient,
  MEMBER,
  OWNER,
  requestToken,
  sessionToken,
  type Visit,
  visit,
} from '../support/workspace.ts'

const CLIENTS = '/ven_acme/integrations/oauth2-clients'

interface State {
  name: string
  as?: string
  path: string | (() => Promise<string>)
  /** Brings the page there. */
  reach: (page: Page) => Promise<unknown>
}

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
    name: 'not one of my companies',
    as: OWNER,
    path: '/ven_other',
    reach: heading('Not one of your companies'),
  },
  { name: 'no such page', as: OWNER, path: '/ven_acme/nothing', reach: heading('Page not found') },
  { name: 'not for a member', as: MEMBER, path: CLIENTS, reach: heading('OAuth2 Clients') },
  { name: 'clients', as: OWNER, path: CLIENTS, reach: (page) => page.getByRole('row').nth(1).waitFor() },
  {
    name: 'account menu',
    as: OWNER,
    path: CLIENTS,
    async reach(page) {
      await page.getByRole('button', { name: OWNER }).click()
      await page.getByRole('menuitem', { name: 'Sign out' }).waitFor()
    },
  },
  {
    name: 'create a client, with mistakes',
    as: OWNER,
    path: CLIENTS,
    async reach(page) {
      await page.getByRole('button', { name: 'Create client' }).click()
      await dialog(page).getByRole('button', { name: 'Create client' }).click()
      await dialog(page).getByText('Give it a name.').waitFor()
    },
  },
  {
    name: 'the secret',
    as: OWNER,
    path: CLIENTS,
    async reach(page) {
      await page.getByRole('button', { name: 'Create client' }).click()
      await dialog(page).getByLabel('Name').fill('Accessible')
      await dialog(page).getByRole('checkbox').first().check()
      await dialog(page).getByRole('button', { name: 'Create client' }).click()
      await dialog(page).getByText('Client secret').waitFor()
      await page.keyboard.press('Escape')
      await dialog(page).getByText('once this is closed, the secret is gone').waitFor()
    },
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
    name: 'rotation, begun',
    as: OWNER,
    path: async () => `${CLIENTS}/${(await newClient('Rotated')).clientId}/rotate`,
    reach: (page) => page.getByRole('button', { name: 'Create replacement' }).waitFor(),
  },
  {
    name: 'rotation, watched',
    as: OWNER,
    path: async () => {
      const old = await newClient('Watched')
      const replacement = await newClient('Watched 2')
      await requestToken(old)
      await requestToken(replacement)
      return `${CLIENTS}/${old.clientId}/rotate?replacement=${replacement.clientId}`
    },
    reach: (page) => page.getByText('In use now').waitFor(),
  },
  {
    name: 'analytics',
    as: OWNER,
    path: '/ven_acme/analytics',
    reach: (page) => page.locator('canvas').waitFor(),
  },
  {
    name: 'activity',
    as: OWNER,
    path: '/ven_acme/activity',
    reach: (page) => page.getByRole('listitem').nth(5).waitFor(),
  },
  {
    name: 'analytics, compared',
    as: OWNER,
    path: '/ven_acme/analytics?compare=',
    reach: (page) => page.getByText('Compared with').waitFor(),
  },
  {
    name: 'a search that finds nothing',
    as: OWNER,
    path: `${CLIENTS}?q=nothing-like-it`,
    reach: (page) => page.getByText('No active client matches').waitFor(),
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
  { name: 'webhooks', as: OWNER, path: '/ven_acme/integrations/webhooks', reach: heading('Webhooks') },
]

describe('workspace: accessible in both themes, and as wide as the window', function () {
  this.timeout(60_000)
  let tab: Visit
  afterEach(() => tab?.leave())

  for (const { name, as, path, reach } of STATES) {
    it(name, async () => {
      tab = await visit({ ...(as && { as }), path: typeof path === 'string' ? path : await path() })
      await reach(tab.page)
      await assertAccessible(tab.page)
      for (const width of [1600, 900, 360, 320]) {
        await tab.page.setViewportSize({ width, height: 800 })
        await assertFits(tab.page)
      }
      await tab.page.emulateMedia({ colorScheme: 'dark' })
      await assertAccessible(tab.page)
    })
  }
})

const newClient = async (name: string) => createClient(await sessionToken(OWNER), { name })
