import assert from 'node:assert/strict'
import type { Locator } from 'playwright-core'
import { eventually } from '../support/eventually.ts'
import { assertFocused, CLIENTS, createClient, OWNER, visit } from '../support/workspace.ts'

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
    await page.setViewportSize({ width: 320, height: 568 })
    for (let presses = 0; presses < 15; presses++) {
      await keyboard.press('Tab')
      await untilFocusIsIn(dialog)
    }
    await page.setViewportSize({ width: 1280, height: 900 })
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

  it('shows what has the focus by a ring that nothing cuts off or covers', async () => {
    const { clientId } = await createClient({ name: 'Walked through' })
    const { page, baseUrl } = await visit({ as: OWNER, path: '/favicon.svg', width: 390, height: 700 })
    for (const path of [`${CLIENTS}?q=none`, `${CLIENTS}/${clientId}`, '/ven_acme/analytics?days=7']) {
      await page.goto(baseUrl + path)
      await page.waitForLoadState('networkidle')
      for (let steps = 0; steps < 30; steps += 1) {
        await page.keyboard.press('Tab')
        const isSeen = async () => !(await page.evaluate(isFocusHidden))
        await eventually(isSeen, { otherwise: () => `${path}, step ${steps}` })
      }
    }
  })
})

/** Whether something lies over what has the focus, or neither that nor its label has a whole ring. */
function isFocusHidden(): boolean {
  const focused = document.activeElement ?? document.body
  const place = focused.closest('label') ?? focused
  const { left, top, width, height } = focused.getBoundingClientRect()
  const over = document.elementFromPoint(left + width / 2, top + height / 2)
  const hasRing = (it: Element) => {
    const { outlineStyle, outlineWidth, outlineOffset, opacity } = getComputedStyle(it)
    const reach = Number.parseFloat(outlineWidth) + Number.parseFloat(outlineOffset)
    const ring = it.getBoundingClientRect()
    for (let around = it.parentElement; around; around = around.parentElement) {
      const box = around.getBoundingClientRect()
      const isCut =
        ring.top - reach < box.top || ring.bottom + reach > box.bottom || ring.left - reach < box.left
      if (isCut && getComputedStyle(around).overflowY !== 'visible') return false
    }
    return outlineStyle !== 'none' && opacity !== '0'
  }
  const isThrough = getComputedStyle(focused).pointerEvents === 'none'
  const isSeen = isThrough || place.contains(over) || over?.contains(focused)
  // The button in a field for a date has the browser's own ring.
  const isOwn = focused.matches('[type=date]:not(:focus-visible)')
  const isMarked = isOwn || [focused, place, ...place.children].some(hasRing)
  return focused !== document.body && !(isSeen && isMarked)
}

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
