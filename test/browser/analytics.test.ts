import { strict as assert } from 'node:assert'
import type { Page } from 'playwright-core'
import { eventually } from '../support/eventually.ts'
import { OWNER, visit } from '../support/workspace.ts'

describe('workspace: Analytics', () => {
  it('reads the figures of each day out by keyboard and pointer', async () => {
    const { page } = await visit({ as: OWNER, path: '/ven_acme/analytics?days=7' })
    const slider = page.getByRole('slider', { name: 'Impressions, day by day' })
    await slider.focus()
    const valueText = () => slider.getAttribute('aria-valuetext')
    const last = await valueText()
    await page.keyboard.press('ArrowLeft')
    await eventually(async () => (await valueText()) !== last)
    const shown = await valueText()
    assert.match(shown ?? '', /^\w{3} \d+ \w{3} \d{4}: .+, provisional$/)
    const readout = page.locator('.chart-readout')
    await eventually(async () => (await readout.innerText()) === shown)
    await page.keyboard.press('Tab')
    await readout.getByText('Impressions per day').waitFor()
    const days = page.locator('.chart ol')
    const { width } = (await days.boundingBox()) as { width: number }
    const read = new Set<string>()
    // Three places on each bar.
    for (let x = width / 42; x < width; x += width / 21) {
      await days.hover({ position: { x, y: 80 } })
      read.add(await readout.innerText())
    }
    assert.equal(read.size, 7)
    await page.mouse.move(0, 0)
    await readout.getByText('Impressions per day').waitFor()
    // A shorter range may not have the day that is read.
    await page.getByLabel('First day').fill(await page.getByLabel('Last day').inputValue())
    await rowCount(page, 1)
    assert.equal(await valueText(), last)
  })

  it('compares with the previous period, unless nothing was reported in it, and keeps that in the address', async () => {
    const { page, baseUrl } = await visit({ as: OWNER, path: '/ven_acme/analytics?days=7' })
    await rowCount(page, 7)
    await page.getByLabel('Compare with the previous period').check()
    await page.waitForURL('**/analytics?days=7&compare=yes')
    const from = await page.getByLabel('First day').inputValue()
    const clicks = page.getByRole('radio', { name: /^Clicks/ }).locator('..')
    await clicks.getByText(/^[+-]?[\d.]+%$/).waitFor()
    // While the days before it load, those before the shorter range must not stand in for them.
    await page.route('**/daily?from=*', () => {})
    await page.getByRole('radio', { name: '30 days' }).check({ force: true })
    await page.waitForURL('**/analytics?compare=yes')
    await rowCount(page, 30)
    assert.equal(await page.getByText(/Compared with/).count(), 0)
    await page.getByRole('radio', { name: '90 days' }).check({ force: true })
    const dimmed = page.locator('[aria-busy="true"]').getByText(/ of 30 days reported/)
    await dimmed.waitFor()
    await page.unroute('**/daily?from=*')
    await page.goto(`${baseUrl}/ven_acme/analytics?days=90&compare=yes`)
    await page.getByText(/ 0 of 90 days reported\./).waitFor()
    assert.match(await clicks.innerText(), /^Clicks\s+[\d,]+$/)
    await page.getByText('Today is not over yet.').waitFor()
    await page.getByLabel('Last day').fill(from)
    await page.getByText(/Compared with .+ of 84 days reported\.$/).waitFor()
    await page.getByRole('radio', { name: '7 days' }).check({ force: true })
    await eventually(async () => (await page.getByLabel('Last day').inputValue()) > from)
  })

  it('labels days so that no label reaches into the next, in any range and window', async () => {
    const { page } = await visit({ as: OWNER, path: '/ven_acme/analytics' })
    const ranges = { '7 days': 7, '30 days': 30, '90 days': 90, '12 months': 366 }
    for (const [range, days] of Object.entries(ranges)) {
      await page.getByRole('radio', { name: range }).check({ force: true })
      await page.getByText(` of ${days} days reported`).waitFor()
      for (const width of [1600, 900, 640, 320]) {
        await page.setViewportSize({ width, height: 900 })
        const labels = page.locator('.chart ol span:not([data-status])').filter({ visible: true })
        const places = await labels.evaluateAll((all) => all.map((it) => it.getBoundingClientRect().toJSON()))
        assert.ok(places.length > 2, `${range} at ${width} px`)
        for (const [index, { left }] of places.entries())
          assert.ok(left >= (places[index - 1]?.right ?? 0), `${range} at ${width} px: label ${index}`)
      }
    }
  })

  it('lets the browser save the CSV when it likes', async () => {
    const { page } = await visit({ as: OWNER, path: '/ven_acme/analytics?days=90' })
    const revoked = await page.getByText('Download CSV').evaluate((button: HTMLElement) => {
      const urls: string[] = []
      URL.revokeObjectURL = (url) => urls.push(url)
      button.click()
      return urls
    })
    // Some browsers begin to save it later.
    assert.deepEqual(revoked, [])
  })
})

/** Returns the rows of the table, once there are this many. */
async function rowCount(page: Page, count: number) {
  const rows = page.getByRole('region', { name: 'Day by day' }).locator('tbody tr')
  await rows.nth(count - 1).waitFor()
  await rows.nth(count).waitFor({ state: 'detached' })
  return rows
}
