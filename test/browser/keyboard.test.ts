import { strict as assert } from 'node:assert'
import type { Page } from 'playwright-core'
import { eventually } from '../support/eventually.ts'
import { assertFocused, leaveVisits, OWNER, visit } from '../support/workspace.ts'

const CLIENTS = '/ven_acme/integrations/oauth2-clients'

describe('workspace: by keyboard alone', () => {
  afterEach(leaveVisits)

  it('skips the navigation by keyboard', async () => {
    const { page } = await visit({ as: OWNER, path: CLIENTS })
    await page.getByRole('button', { name: 'Create client' }).waitFor()
    await page.keyboard.press('Tab')
    await assertFocused(page, 'Skip to the content')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await assertFocused(page, 'Create client')
  })

  it('goes through the dialogs and the menu of a new client, which keep and return the focus, and to the next screen', async () => {
    const { page } = await visit({ as: OWNER, path: CLIENTS })
    const { keyboard } = page
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Create client' }).focus()
    await keyboard.press('Enter')
    await dialog.getByLabel('Name').and(page.locator(':focus')).waitFor()
    await keyboard.type('By keyboard')
    for (let presses = 0; presses < 20; presses++) {
      await keyboard.press('Tab')
      assert.equal(await focusIsInDialog(page), true)
    }
    await page.getByRole('checkbox', { name: /Read boosts/ }).focus()
    await keyboard.press('Space')
    await dialog.getByLabel('Name').focus()
    await keyboard.press('Enter')
    await page.getByText('Client secret').waitFor()
    await eventually(() => focusIsInDialog(page))
    await page.getByRole('tab', { name: 'curl' }).focus()
    await keyboard.press('ArrowRight')
    await page.getByRole('region', { name: '.env file' }).waitFor()
    await keyboard.press('Home')
    await page.getByRole('region', { name: 'curl command' }).waitFor()
    await keyboard.press('Escape')
    await page.getByText('once this is closed, the secret is gone').waitFor()
    await page.getByRole('checkbox', { name: 'I have saved the secret' }).focus()
    await keyboard.press('Space')
    await keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await assertFocused(page, 'Create client')

    await page.getByRole('button', { name: 'Actions for By keyboard' }).focus()
    await keyboard.press('Enter')
    await assertFocused(page, 'Rotate the secret')
    await keyboard.press('Escape')
    await assertFocused(page, 'Actions for By keyboard')
    await keyboard.press('Enter')
    await assertFocused(page, 'Rotate the secret')
    await keyboard.press('ArrowDown')
    await assertFocused(page, 'Revoke')
    await keyboard.press('Enter')
    await page.getByRole('dialog', { name: /Revoke/ }).waitFor()
    await eventually(() => focusIsInDialog(page))
    await keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await assertFocused(page, 'Actions for By keyboard')

    await page.getByRole('link', { name: 'Activity' }).focus()
    await keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Activity', level: 1 }).and(page.locator(':focus')).waitFor()
    await page.waitForFunction(() => document.title === 'Activity · Acme Outfitters')
  })
})

const focusIsInDialog = (page: Page): Promise<boolean> =>
  page.evaluate(() => document.activeElement?.closest('[role="dialog"]') !== null)
