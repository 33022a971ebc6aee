import { strict as assert } from 'node:assert'
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { type ActivityAction, type Actor, recordActivity } from '../../apps/api/accounts/activity.ts'
import { midnight } from '../../apps/workspace/src/api/midnight.ts'
import { createClock, daysLater } from '../../apps/workspace/src/api/time.ts'
import { testOperator } from '../support/operator.ts'
import { connectedDatabase } from '../support/stores.ts'
import {
  ADMIN,
  CLIENTS,
  createClient,
  GLOBEX_OWNER,
  OWNER,
  revokeClient,
  sessionToken,
  testStack,
  vendorApi,
  visit,
} from '../support/workspace.ts'

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
    await enterDay(today)
    await page.goto(`${baseUrl}/ven_acme/analytics?days=7&compare=yes`)
    await page.getByText('Today is not over').waitFor()
    await enterDay(daysLater(today, 1))
    await page.goto(baseUrl + ACTIVITY)
    await page.getByText('created the client On the clock').waitFor()
    assert.equal(await page.getByRole('heading', { name: 'Today' }).count(), 0)
  })

  it('filters the activity by person, kind, client and time, keeps the filters in the address, and exports what they show', async () => {
    const { clientId } = await createClient({ name: 'Filtered' })
    const renaming = { token: await sessionToken(ADMIN), method: 'PATCH', body: { name: 'Filtered anew' } }
    await vendorApi(`/oauth-clients/${clientId}`, renaming)
    for (const name of ['Sorted 10', 'Sorted 2']) await createClient({ name })
    await revokeClient((await createClient({ name: 'Sorted 2' })).clientId)
    const { page } = await visit({ as: OWNER, path: ACTIVITY })
    const items = page.getByRole('main').getByRole('listitem')
    const search = page.getByRole('search', { name: 'Filter the activity' })
    await search.getByLabel('Client').selectOption({ value: clientId })
    await page.waitForURL(`**/activity?client=${clientId}`)
    await items.nth(2).waitFor({ state: 'detached' })
    await items.filter({ hasText: 'created the client Filtered' }).waitFor()
    assert.equal(await items.count(), 2)
    assert.match(await search.getByLabel('Person').innerText(), /Selma Kurz/, 'who is suspended did things')
    await search.getByLabel('Person').selectOption({ label: 'Anton Weiss' })
    await items.filter({ hasText: 'created the client' }).waitFor({ state: 'detached' })
    await items.filter({ hasText: 'renamed the client Filtered to Filtered anew' }).waitFor()
    await page.route('**/activity?*', () => {}, { times: 1 })
    await search.getByLabel('Kind').selectOption('Client created')
    await page.locator('[aria-busy="true"]').waitFor()
    await search.getByLabel('Kind').selectOption('Client revoked')
    await page.getByText('Nothing matches these filters.').waitFor()
    await search.getByLabel('Kind').selectOption('Client renamed')
    await items.first().waitFor()

    const lines = (await exported(page)).csv.trim().split('\r\n')
    assert.equal(lines.length, 2)
    assert.ok(lines[1]?.includes(',name: Filtered,name: Filtered anew,'), lines[1])

    await page.reload()
    await items.first().waitFor()
    assert.equal(await items.count(), 1)
    await search.getByLabel('To').fill('2020-01-01')
    await page.getByText('Nothing matches these filters.').waitFor()
    await search.getByLabel('From').fill('2019-01-01')
    for (const limit of ['[max="2020-01-01"]', '[min="2019-01-01"]']) await search.locator(limit).waitFor()
    await search.getByRole('button', { name: 'Clear filters' }).click()
    await items.nth(2).waitFor()
    await page.waitForURL(`**${ACTIVITY}`)
    const names = await search.getByText(/^Sorted/).allInnerTexts()
    const sorted = ['Sorted 2 (id…)', 'Sorted 2 (id…), revoked', 'Sorted 10']
    assert.deepEqual(
      names.map((name) => name.replace(/cli_\w{6}/, 'id')),
      sorted,
    )
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
    const { page, baseUrl } = await visit({ as: GLOBEX_OWNER, path })
    await page.getByRole('main').getByRole('listitem').filter({ hasText: 'old.example' }).first().waitFor()
    const { name, csv } = await exported(page)
    const [, ...lines] = csv.trim().split('\r\n')
    assert.equal(name, `activity_ven_globex_${lines[0]?.slice(0, 10)}.csv`)
    assert.deepEqual([...new Set(lines.map((line) => line.split(',')[1]))], ['callback.saved'])
    assert.match(lines.at(-1) ?? '', /old.example/)
    await page.goto(`${baseUrl}/ven_globex/activity?kind=person.invited`)
    await page.getByRole('status').getByText('50 or more found').waitFor()
  })

  it('says who did what in a sentence that leads to the client, and filters by operator', async () => {
    await using db = connectedDatabase((await testStack()).stores.postgres.ownerUrl)
    const { clientId } = await createClient({ name: 'Told of' })
    const userId = async (email: string) => (await db('users').where({ email }).first()).user_id
    const [by, elsewhere] = [await userId(ADMIN), await userId(GLOBEX_OWNER)]
    const before = { role: 'member', status: 'active' }
    const deeds: [Actor, ActivityAction, subject: string, detail: Record<string, unknown>][] = [
      [by, 'person.changed', 'usr_x', { name: 'Pia', before, after: { ...before, role: 'admin' } }],
      [elsewhere, 'callback.saved', 'b.com', { before: { host: 'a.com' }, after: { host: 'b.com' } }],
      [by, 'client.renamed', clientId, { before: { name: 'Old' }, after: { name: 'New' } }],
      [testOperator(), 'person.password_reset', 'usr_x', { name: 'Rita' }],
    ]
    for (const [by, action, subject, detail] of deeds)
      await recordActivity(db, { vendorId: 'ven_acme', by }, action, subject, detail)
    const { page } = await visit({ as: OWNER, path: ACTIVITY })
    const items = page.getByRole('main').getByRole('listitem')
    await items.first().waitFor()
    assert.deepEqual((await items.getByRole('paragraph').allInnerTexts()).slice(0, 5), [
      'The operator set a new password for Rita and ended all sessions of that account',
      'Anton Weiss renamed the client Old to New',
      'Grace Holloway changed the callback URL from a.com to b.com',
      'Anton Weiss changed Pia from Member to Admin',
      'Olivia Brandt created the client Told of',
    ])
    await page.getByLabel('Person').selectOption('Grace Holloway')
    await items.nth(1).waitFor({ state: 'detached' })
    await page.getByLabel('Person').selectOption('Operator of the service')
    await items.filter({ hasText: 'Anton Weiss' }).first().waitFor({ state: 'detached' })
    await items.getByText(/^The operator set a new password for Rita/).waitFor()
    await page.getByLabel('Person').selectOption('Everyone')
    await page.waitForURL(`**${ACTIVITY}`)
    await items.getByRole('link', { name: 'New', exact: true }).click()
    await page.getByRole('heading', { name: 'Told of', level: 1 }).waitFor()
  })

  it('exports all of the activity as CSV, entries that are not loaded yet too, and loads them up to the first', async () => {
    const { clientId } = await createClient({ name: 'Renamed often' })
    const rename = (name: string) =>
      vendorApi(`/oauth-clients/${clientId}`, { method: 'PATCH', body: { name } })
    for (let number = 1; number <= 50; number++) await rename(`Renamed ${number}`)
    await rename('=1+1, "quoted"')
    const { page } = await visit({ as: OWNER, path: ACTIVITY })
    const { name, csv } = await exported(page, 'Export all as CSV')
    assert.match(name, /^activity_ven_acme_\d{4}-\d\d-\d\d\.csv$/)
    const [header, newest, ...others] = csv.trim().split('\r\n')
    const total = others.length + 1
    assert.equal(header, 'at,action,subject,by,by_user_id,before,after,detail,entry_id')
    assert.match(newest ?? '', new RegExp(`client.renamed,${clientId},.+,usr_`))
    assert.ok((newest ?? '').includes('name: =1+1, ""quoted""'), newest)
    assert.ok(others.some((line) => line.includes('Demo client of the local stack')))
    const items = page.getByRole('main').getByRole('listitem')
    for (let shown = 50; shown < total; shown += 50) {
      await page.getByRole('button', { name: 'Show more' }).click()
      await items.nth(shown).waitFor()
    }
    assert.equal(await items.count(), total)
    await items.last().filter({ hasText: 'Demo client of the local stack' }).waitFor()
  })
})

async function exported(page: Page, button = 'Export these as CSV'): Promise<{ name: string; csv: string }> {
  const downloading = page.waitForEvent('download')
  await page.getByRole('button', { name: button }).click()
  const download = await downloading
  return { name: download.suggestedFilename(), csv: await readFile(await download.path(), 'utf8') }
}

const shownIn = (timeZone: string, at: Date): string =>
  at.toLocaleString('en-GB', { timeZone, dateStyle: 'medium', timeStyle: 'short' })
