import { strict as assert } from 'node:assert'
import type { Route } from 'playwright-core'
import { midnight } from '../../apps/workspace/src/api/midnight.ts'
import { createClock, daysLater } from '../../apps/workspace/src/api/time.ts'
import { connectedDatabase } from '../support/stores.ts'
import { CLIENTS, createClient, GLOBEX_OWNER, OWNER, testStack, visit } from '../support/workspace.ts'

const ACTIVITY = '/ven_acme/activity'

describe('workspace: Activity', () => {
  it("shows every time on the company's clock, its zone and the browser's own on hover, and the zone in the account menu", async () => {
    const { clientId } = await createClient({ name: 'On the clock' })
    const { page, context, baseUrl } = await visit({ as: OWNER, path: '/favicon.svg', alone: true })
    const devtools = await context.newCDPSession(page)
    await devtools.send('Emulation.setTimezoneOverride', { timezoneId: 'Asia/Tokyo' })
    for (const screen of [ACTIVITY, '/ven_acme/analytics', CLIENTS, `${CLIENTS}/${clientId}`]) {
      await page.goto(baseUrl + screen)
      const times = page.getByRole('main').locator('time[datetime*="T"]')
      await times.first().waitFor({ state: 'attached' })
      for (const time of await times.all()) {
        const at = new Date((await time.getAttribute('datetime')) ?? '')
        const title = (await time.getAttribute('title')) ?? ''
        const there = `${shownIn('Europe/Berlin', at)} Europe/Berlin`
        assert.ok(title.startsWith(`${there} (${shownIn('Asia/Tokyo', at)} Asia/Tokyo your time)`), title)
      }
      assert.equal(await page.getByText('Europe/Berlin').count(), 0, screen)
    }
    const added = page.getByRole('definition').filter({ hasText: 'Olivia Brandt' }).locator('time').first()
    const at = new Date((await added.getAttribute('datetime')) ?? '')
    assert.equal(await added.innerText(), shownIn('Europe/Berlin', at))
    assert.equal(await page.locator('time[tabindex]').count(), 0)
    const account = page.getByRole('button', { name: OWNER })
    await account.click()
    await page.getByText('Times are in Europe/Berlin.').waitFor()
    await page.keyboard.press('Escape')

    // The company moves. Its open screens follow once they read the session again.
    await page.route('**/v1/session', async (route) => {
      const response = await route.fetch()
      const body = (await response.text()).replace('Europe/Berlin', 'America/New_York')
      await route.fulfill({ response, body })
    })
    await page.evaluate(() => new BroadcastChannel('session').postMessage('signed in'))
    await added.and(page.getByText(shownIn('America/New_York', at), { exact: true })).waitFor()
    await account.click()
    await page.getByText('Times are in America/New_York.').waitFor()
    await page.unroute('**/v1/session')

    // Half an hour into the company's day, and its next, of which UTC knows nothing yet.
    const today = createClock('Europe/Berlin').isoDate(new Date())
    const enterDay = (day: string) =>
      page.clock.setFixedTime(midnight(day, 'Europe/Berlin').getTime() + 1_800_000)
    await enterDay(daysLater(today, -1))
    await page.goto(`${baseUrl}/ven_acme/analytics?days=7&compare=yes`)
    await page.getByText('Today is not over').waitFor()
    await enterDay(today)
    await page.locator(`time[datetime="${today}"]`).waitFor()
    await page.getByText('Today is not over').waitFor()
    await enterDay(daysLater(today, 1))
    await page.goto(baseUrl + ACTIVITY)
    await page.getByText('created the client On the clock').waitFor()
    assert.equal(await page.getByRole('heading', { name: 'Today' }).count(), 0)
  })

  it('looks further back by itself when the latest entries do not match the filters', async () => {
    await using db = connectedDatabase((await testStack()).stores.postgres.ownerUrl)
    const { user_id: userId } = await db('users').where({ email: GLOBEX_OWNER }).first()
    await db.raw(
      `insert into activity (vendor_id, user_id, action, subject, at)
       select 'ven_globex', ?, 'person.invited', 'usr_x', timestamptz '2026-01-02' from generate_series(1, 6000)
       union all select 'ven_globex', ?, 'callback.saved', 'old.example', day
         from unnest(array[timestamptz '2025-12-31', '2026-01-01']) as day`,
      [userId, userId],
    )
    const path = `/ven_globex/activity?person=${userId}&kind=callback.saved`
    const { page, baseUrl } = await visit({ as: GLOBEX_OWNER, path: '/favicon.svg' })
    let refused = 0
    const refuse = (route: Route) => {
      refused += 1
      return route.fulfill({ status: 429, json: { code: 'rate_limited' } })
    }
    await page.route(/cursor=/, refuse)
    await page.goto(baseUrl + path)
    const again = page.getByRole('button', { name: 'Try again' })
    await again.waitFor()
    await page.evaluate(() => fetch('/favicon.svg'))
    assert.equal(refused, 1, 'asked again and again')
    await page.unroute(/cursor=/)
    await again.click()
    await page.getByRole('main').getByRole('listitem').filter({ hasText: 'old.example' }).first().waitFor()
    await page.goto(`${baseUrl}/ven_globex/activity?kind=person.invited`)
    await page.getByRole('status').getByText('50 or more found').waitFor()
  })
})

const shownIn = (timeZone: string, at: Date): string =>
  at.toLocaleString('en-GB', { timeZone, dateStyle: 'medium', timeStyle: 'short' })
