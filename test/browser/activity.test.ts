import { strict as assert } from 'node:assert'
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { runAdmin } from '../support/admin.ts'
import { connectedDatabase } from '../support/stores.ts'
import {
  ADMIN,
  api,
  createClient,
  GLOBEX_OWNER,
  leaveVisits,
  OWNER,
  sessionToken,
  testWorkspace,
  visit,
} from '../support/workspace.ts'

describe('workspace: Activity', () => {
  afterEach(leaveVisits)

  it("shows every time on the company's clock, its zone and the browser's own on hover, and the zone in the account menu", async () => {
    const token = await sessionToken(OWNER)
    const { clientId } = await createClient(token, { name: 'On the clock' })
    const { page, context, baseUrl } = await visit({ sessionToken: token, path: '/favicon.svg', alone: true })
    const devtools = await context.newCDPSession(page)
    await devtools.send('Emulation.setTimezoneOverride', { timezoneId: 'Asia/Tokyo' })
    for (const screen of [
      'activity',
      'analytics',
      'integrations/oauth2-clients',
      `integrations/oauth2-clients/${clientId}`,
    ]) {
      await page.goto(`${baseUrl}/ven_acme/${screen}`)
      const times = page.getByRole('main').locator('time[datetime*="T"]')
      await times.first().waitFor({ state: 'attached' })
      for (const time of await times.all()) {
        const at = new Date((await time.getAttribute('datetime')) ?? '')
        const title = await time.getAttribute('title')
        const there = `${shownIn('Europe/Berlin', at)} Europe/Berlin`
        assert.ok(
          title?.startsWith(`${there} (${shownIn('Asia/Tokyo', at)} Asia/Tokyo your time)`),
          title ?? '',
        )
      }
      assert.equal(await page.getByText('Europe/Berlin').count(), 0, screen)
    }
    const added = page.getByRole('definition').filter({ hasText: 'Olivia Brandt' }).locator('time').first()
    const at = new Date((await added.getAttribute('datetime')) ?? '')
    assert.equal(await added.innerText(), shownIn('Europe/Berlin', at))
    assert.equal(await page.locator('time[tabindex]').count(), 0)
    await page.getByRole('button', { name: OWNER }).click()
    await page.getByText('Times are in Europe/Berlin.').waitFor()
  })

  it('filters the activity by person, kind, client and time, keeps the filters in the address, and exports what they show', async () => {
    const [token, adminToken] = [await sessionToken(OWNER), await sessionToken(ADMIN)]
    const { clientId } = await createClient(token, { name: 'Filtered' })
    await api(`/v1/vendor/ven_acme/oauth-clients/${clientId}`, {
      token: adminToken,
      method: 'PATCH',
      body: { name: 'Filtered anew' },
    })
    const { page } = await visit({ sessionToken: token, path: '/ven_acme/activity' })
    const items = page.getByRole('main').getByRole('listitem')
    const search = page.getByRole('search', { name: 'Filter the activity' })
    await search.getByLabel('Client').selectOption({ value: clientId })
    await page.waitForURL(`**/activity?client=${clientId}`)
    await items.nth(2).waitFor({ state: 'detached' })
    await items.filter({ hasText: 'created the client Filtered' }).waitFor()
    assert.equal(await items.count(), 2)
    await search.getByLabel('Person').selectOption({ label: 'Anton Weiss' })
    await items.filter({ hasText: 'created the client' }).waitFor({ state: 'detached' })
    await items.filter({ hasText: 'renamed the client Filtered to Filtered anew' }).waitFor()
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
    await search.getByRole('button', { name: 'Clear filters' }).click()
    await items.nth(2).waitFor()
    await page.waitForURL('**/ven_acme/activity')
  })

  it('looks further back by itself when the latest entries do not match the filters', async () => {
    const { stack } = await testWorkspace()
    await using db = connectedDatabase(stack.stores.postgres.ownerUrl)
    const { user_id: userId } = await db('users').where({ email: GLOBEX_OWNER }).first()
    const entry = {
      vendor_id: 'ven_globex',
      user_id: userId,
      action: 'callback.saved',
      subject: 'old.example',
    }
    await db('activity').insert({ ...entry, detail: { after: { host: 'old.example' } }, at: '2026-01-01' })
    await db.raw(
      `insert into activity (vendor_id, user_id, action, subject, at)
       select 'ven_globex', ?, 'person.invited', 'usr_x', '2026-01-02' from generate_series(1, 6000)`,
      [userId],
    )
    const path = `/ven_globex/activity?person=${userId}&kind=callback.saved`
    const { page, baseUrl } = await visit({ as: GLOBEX_OWNER, path })
    await page.getByRole('main').getByRole('listitem').filter({ hasText: 'old.example' }).waitFor()
    assert.match((await exported(page)).csv, /callback.saved,old.example/)
    await page.goto(`${baseUrl}/ven_globex/activity?kind=person.invited`)
    await page.getByText('50 or more found').waitFor()
  })

  it('says in sentences what happened to people, to clients with a link to each, and to the callback URL', async () => {
    const token = await sessionToken(OWNER)
    const { clientId } = await createClient(token, { name: 'Told of' })
    await api(`/v1/vendor/ven_acme/oauth-clients/${clientId}/revoke`, { token, method: 'POST' })
    for (const name of ['first', 'second']) {
      const body = { callbackUrl: `https://${name}.acme-receiver.com/` }
      await api('/v1/vendor/ven_acme/callback-url', { token, method: 'PATCH', body })
    }
    const people = '/v1/vendor/ven_acme/people'
    const body = { name: 'Pia Partner', email: 'pia@acme.example', role: 'member', deliver: 'link' }
    const { invitationUrl } = await api(people, { token, body })
    const withdrawn = await api(people, {
      token,
      body: { ...body, name: 'Will Withdrawn', email: 'will@acme.example' },
    })
    await api(`${people}/${withdrawn.userId}`, { token, method: 'DELETE' })
    const joined = await api('/v1/invitation', {
      body: { token: invitationUrl.split('#')[1], password: 'a password of Pia' },
    })
    const path = `${people}/${joined.user.userId}`
    for (const change of [{ role: 'admin' }, { status: 'suspended' }, { status: 'active' }]) {
      await api(path, { token, method: 'PATCH', body: change })
    }
    await api(path, { token, method: 'DELETE' })
    const { page } = await visit({ sessionToken: token, path: '/ven_acme/activity' })
    const said = page.getByRole('main').getByRole('listitem')
    await said.first().waitFor()
    const owner = 'Olivia Brandt'
    assert.deepEqual(
      (await said.locator('p').allInnerTexts())
        .slice(0, 9)
        .map((text) => text.replace(/ · (?:just now|\d+ \w+ ago)$/, '')),
      [
        `${owner} removed Pia Partner, whose role was Admin`,
        `${owner} ended the suspension of Pia Partner`,
        `${owner} suspended Pia Partner`,
        `${owner} changed Pia Partner from Member to Admin`,
        'Pia Partner accepted the invitation and joined as Member',
        `${owner} withdrew the invitation of Will Withdrawn as Member`,
        `${owner} invited Will Withdrawn as Member`,
        `${owner} invited Pia Partner as Member`,
        `${owner} changed the callback URL from first.acme-receiver.com to second.acme-receiver.com`,
      ],
    )
    await said.filter({ hasText: 'created the client Told of' }).waitFor()
    await said.filter({ hasText: 'revoked the client Told of' }).getByRole('link').click()
    await page.getByText('This client is revoked').waitFor()
  })

  it('says in sentences what operators did, and filters the activity by operator', async () => {
    const token = await sessionToken(OWNER)
    const { stack } = await testWorkspace()
    const email = 'rita@acme.example'
    const operate = async (args: string[], input?: string) => {
      const { code, stderr } = await runAdmin(args, { env: { DATA_DIR: stack.dataDir }, input })
      assert.equal(code, 0, stderr)
    }
    const member = ['member', 'add', 'ven_acme', email, '--name', 'Rita Reset', '--role', 'member']
    await operate(member, 'a first password')
    await operate(['--as', 'Otto', 'password', 'reset', email], 'a second password')
    const { page } = await visit({ sessionToken: token, path: '/ven_acme/activity' })
    const items = page.getByRole('main').getByRole('listitem')
    await page.getByLabel('Kind').selectOption('Password reset by an operator')
    await page.waitForURL('**/activity?kind=person.password_reset')
    await items.nth(1).waitFor({ state: 'detached' })
    await items.getByText(/^The operator set a new password for Rita Reset and ended all sessions/).waitFor()
    const { csv } = await exported(page)
    assert.match(csv, /,person\.password_reset,usr_\w+,operator,,,,/)
    assert.ok(!csv.includes('Otto'), 'a company has no business with the name of an operator')
    await operate(['member', 'set-status', 'ven_acme', email, 'suspended'])
  })

  it('exports all of the activity as CSV, entries that are not loaded yet too, and loads them up to the first', async () => {
    const token = await sessionToken(OWNER)
    const { clientId } = await createClient(token, { name: 'Renamed often' })
    const rename = (name: string) =>
      api(`/v1/vendor/ven_acme/oauth-clients/${clientId}`, { token, method: 'PATCH', body: { name } })
    for (let number = await count(token); number <= 50; number++) await rename(`Renamed ${number}`)
    await rename('=1+1, "quoted"')
    const { page } = await visit({ sessionToken: token, path: '/ven_acme/activity' })
    const total = await count(token)
    assert.ok(total > 50)
    const { name, csv } = await exported(page, 'Export all as CSV')
    assert.match(name, /^activity_ven_acme_\d{4}-\d\d-\d\d\.csv$/)
    const [header, newest, ...others] = csv.split('\r\n')
    assert.equal(header, 'at,action,subject,by,by_user_id,before,after,detail,entry_id')
    assert.match(newest ?? '', new RegExp(`client.renamed,${clientId},.+,usr_`))
    assert.ok((newest ?? '').includes('name: =1+1, ""quoted""'), newest)
    assert.ok(others.some((line) => line.includes('Demo client of the local stack')))
    const items = page.locator('main').getByRole('listitem')
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

/** How many entries there are in all. */
async function count(token: string): Promise<number> {
  let total = 0
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: string = cursor && `&cursor=${cursor}`
    const { entries, nextCursor } = await api(`/v1/vendor/ven_acme/activity?limit=200${query}`, { token })
    total += entries.length
    cursor = nextCursor
  }
  return total
}

const shownIn = (timeZone: string, at: Date): string =>
  at.toLocaleString('en-GB', { timeZone, dateStyle: 'medium', timeStyle: 'short' })
