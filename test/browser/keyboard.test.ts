import { strict as assert } from 'node:assert'
import type { Page } from 'playwright-core'
import { eventually } from '../support/eventually.ts'
import { assertFocused, createClient, OWNER, sessionToken, type Visit, visit } from '../support/workspace.ts'

const CLIENTS = '/ven_acme/integrations/oauth2-clients'

describe('workspace: by keyboard alone', () => {
  let tab: Visit
  afterEach(() => tab?.leave())

  it('skips the navigation by keyboard', async () => {
    tab = await visit({ as: OWNER, path: CLIENTS })
    await tab.page.getByRole('button', { name: 'Create client' }).waitFor()
    await tab.page.keyboard.press('Tab')
    await assertFocused(tab.page, 'Skip to the content')
    await tab.page.keyboard.press('Enter')
    await tab.page.keyboard.press('Tab')
    await assertFocused(tab.page, 'Create client')
  })

  it('creates a client by keyboard, keeps the focus in its dialogs, and returns it to the button', async () => {
    tab = await visit({ as: OWNER, path: CLIENTS })
    const { keyboard } = tab.page
    await tab.page.getByRole('button', { name: 'Create client' }).focus()
    await keyboard.press('Enter')
    await tab.page.getByRole('dialog').getByLabel('Name').and(tab.page.locator(':focus')).waitFor()
    await keyboard.type('By keyboard')
    for (let presses = 0; presses < 20; presses++) {
      await keyboard.press('Tab')
      assert.equal(await focusIsInDialog(tab.page), true)
    }
    await tab.page.getByRole('checkbox', { name: /Read boosts/ }).focus()
    await keyboard.press('Space')
    await tab.page.getByRole('dialog').getByLabel('Name').focus()
    await keyboard.press('Enter')
    await tab.page.getByText('Client secret').waitFor()
    await eventually(() => focusIsInDialog(tab.page))
    await keyboard.press('Escape')
    await tab.page.getByText('once this is closed, the secret is gone').waitFor()
    await tab.page.getByRole('checkbox', { name: 'I have saved the secret' }).focus()
    await keyboard.press('Space')
    await keyboard.press('Escape')
    await tab.page.getByRole('dialog').waitFor({ state: 'detached' })
    await assertFocused(tab.page, 'Create client')
  })

  it('moves through the tabs of code with the arrow keys', async () => {
    const { clientId } = await createClient(await sessionToken(OWNER), { name: 'Tabs' })
    tab = await visit({ as: OWNER, path: `${CLIENTS}/${clientId}` })
    await tab.page.getByRole('tab', { name: 'curl' }).focus()
    await tab.page.keyboard.press('ArrowRight')
    await tab.page.getByRole('region', { name: '.env file' }).waitFor()
    await tab.page.keyboard.press('Home')
    await tab.page.getByRole('region', { name: 'curl command' }).waitFor()
  })

  it('opens a row’s menu by keyboard, and returns the focus to it from the dialog', async () => {
    await createClient(await sessionToken(OWNER), { name: 'Menu by keyboard' })
    tab = await visit({ as: OWNER, path: CLIENTS })
    const { keyboard } = tab.page
    await tab.page.getByRole('button', { name: 'Actions for Menu by keyboard' }).focus()
    await keyboard.press('Enter')
    await assertFocused(tab.page, 'Rotate the secret')
    await keyboard.press('ArrowDown')
    await assertFocused(tab.page, 'Revoke')
    await keyboard.press('Enter')
    await tab.page.getByRole('dialog', { name: /Revoke/ }).waitFor()
    await eventually(() => focusIsInDialog(tab.page))
    await keyboard.press('Escape')
    await tab.page.getByRole('dialog').waitFor({ state: 'detached' })
    await assertFocused(tab.page, 'Actions for Menu by keyboard')
  })

  it('moves the focus to the heading of the next screen', async () => {
    tab = await visit({ as: OWNER, path: CLIENTS })
    await tab.page.getByRole('link', { name: 'Activity' }).focus()
    await tab.page.keyboard.press('Enter')
    await tab.page.getByRole('heading', { name: 'Activity', level: 1 }).waitFor()
    await assertFocused(tab.page, 'Activity')
    await tab.page.waitForFunction(() => document.title === 'Activity · Acme Outfitters')
  })
})

const focusIsInDialog = (page: Page): Promise<boolean> =>
  page.evaluate(() => document.activeElement?.closest('[role="dialog"]') !== null)
