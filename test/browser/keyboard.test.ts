import assert from 'node:assert/strict'
import type { Locator } from 'playwright-core'
import { eventually } from '../support/eventually.ts'
import { assertFocused, CLIENTS, OWNER, visit } from '../support/workspace.ts'

describe('workspace: by keyboard alone', () => {
  it('skips the navigation by keyboard', async () => {
    const { page } = await visit({ as: OWNER, path: CLIENTS })
    await page.getByRole('button', { name: 'Create client' }).waitFor()
    await page.keyboard.press('Tab')
    await assertFocused(page, 'Skip to the content')
    await page.keyboard.press('Enter')
    await page.locator('main:focus').waitFor()
    await page.keyboard.press('Tab')
    await assertFocused(page, 'Create client')
  })

  it('goes through the dialogs and the menu of a new client, which keep and return the focus, and to the next screen', async () => {
    const { page } = await visit({ as: OWNER, path: CLIENTS })
    const { keyboard } = page
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Create client' }).press('Enter')
    await dialog.getByLabel('Name').and(page.locator(':focus')).waitFor()
    assert.ok(((await dialog.boundingBox())?.y ?? -1) >= 0, 'it begins in view, however long it is')
    await keyboard.type('By keyboard')
    for (let presses = 0; presses < 20; presses++) {
      await keyboard.press('Tab')
      await untilFocusIsIn(dialog)
    }
    await dialog.getByRole('radio', { name: /^Secret/ }).press('ArrowDown')
    assert.equal(await dialog.getByRole('radio', { name: /created in this browser/ }).isChecked(), true)
    await keyboard.press('ArrowUp')
    await page.getByRole('checkbox', { name: /Read boosts/ }).press('Space')
    await dialog.getByLabel('Name').press('Enter')
    await page.getByText('Client secret').waitFor()
    await untilFocusIsIn(dialog)
    const tabs = page.getByRole('tablist', { name: 'Ready to use' })
    await tabs.getByRole('tab', { name: 'curl' }).press('ArrowRight')
    await page.getByRole('region', { name: '.env file' }).waitFor()
    await keyboard.press('Home')
    await page.getByRole('region', { name: 'curl command' }).waitFor()
    await keyboard.press('Tab')
    await assertFocused(page, 'curl command')
    await keyboard.press('Escape')
    await page.getByText('once this is closed, the secret is gone').waitFor()
    await page.getByRole('checkbox', { name: 'I have saved the secret' }).press('Space')
    await keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await assertFocused(page, 'Create client')

    await page.getByRole('button', { name: 'Actions for By keyboard' }).press('Enter')
    await assertFocused(page, 'Rotate the secret')
    await keyboard.press('ArrowDown')
    await assertFocused(page, 'Revoke')
    await keyboard.press('Enter')
    await page.getByRole('dialog', { name: /Revoke/ }).waitFor()
    await untilFocusIsIn(dialog)
    await keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await assertFocused(page, 'Actions for By keyboard')

    await page.setViewportSize({ width: 1280, height: 600 })
    await page.evaluate(() => window.scrollTo(0, 200))
    await page.getByRole('link', { name: 'Activity' }).press('Enter')
    await page.getByRole('heading', { name: 'Activity', level: 1 }).and(page.locator(':focus')).waitFor()
    assert.equal(await page.evaluate(() => window.scrollY), 0)
    await page.waitForFunction(() => document.title === 'Activity · Acme Outfitters')
  })
})

/** Also waits until the buttons, which stay in view, hide none of it (WCAG 2.2, 2.4.11). */
const untilFocusIsIn = (dialog: Locator) =>
  eventually(() =>
    dialog.evaluate((it) => {
      const focused = document.activeElement as Element
      const { left, bottom } = focused.getBoundingClientRect()
      const foot = it.querySelector('footer')
      const isHidden = foot?.contains(document.elementFromPoint(left + 1, bottom - 1))
      return it.contains(focused) && (foot?.contains(focused) || !isHidden)
    }),
  )
