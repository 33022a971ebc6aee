import { strict as assert } from 'node:assert'
import { readFile } from 'node:fs/promises'
import { api, createClient, OWNER, sessionToken, type Visit, visit } from '../support/workspace.ts'

describe('workspace: Activity', function () {
  this.timeout(60_000)
  let tab: Visit
  afterEach(() => tab?.leave())

  it('tells who created and revoked what, with a way to it', async () => {
    const token = await sessionToken(OWNER)
    const { clientId } = await createClient(token, { name: 'Told of' })
    await api(`/v1/vendor/ven_acme/oauth-clients/${clientId}/revoke`, { token, method: 'POST' })
    tab = await visit({ sessionToken: token, path: '/ven_acme/activity' })
    const entries = tab.page.getByRole('listitem').filter({ hasText: 'Told of' })
    await entries.filter({ hasText: 'created the client' }).waitFor()
    await entries.filter({ hasText: 'revoked the client' }).getByRole('link').click()
    await tab.page.getByText('This client is revoked').waitFor()
  })

  it('says what a destination was before', async () => {
    const token = await sessionToken(OWNER)
    const save = (callbackUrl: string) =>
      api('/v1/vendor/ven_acme/callback-url', { token, method: 'PATCH', body: { callbackUrl } })
    await save('https://first.acme-receiver.com/')
    await save('https://second.acme-receiver.com/')
    tab = await visit({ sessionToken: token, path: '/ven_acme/activity' })
    await tab.page
      .getByText('changed the webhook destination from first.acme-receiver.com to second.acme-receiver.com')
      .waitFor()
  })

  it('exports everything as CSV, also what is not on the page yet', async () => {
    const token = await sessionToken(OWNER)
    const { clientId } = await createClient(token, { name: '=1+1, "quoted"' })
    tab = await visit({ sessionToken: token, path: '/ven_acme/activity' })
    const downloading = tab.page.waitForEvent('download')
    await tab.page.getByRole('button', { name: 'Export all as CSV' }).click()
    const download = await downloading
    assert.match(download.suggestedFilename(), /^activity_ven_acme_\d{4}-\d\d-\d\d\.csv$/)
    const [header, newest, ...others] = (await readFile(await download.path(), 'utf8')).split('\r\n')
    assert.equal(header, 'at,action,subject,by,by_user_id,detail')
    assert.match(newest ?? '', new RegExp(`client.created,${clientId},.+,usr_`))
    assert.ok((newest ?? '').includes('""name"":""=1+1, \\""quoted\\""""'), newest)
    assert.ok(others.some((line) => line.includes('Demo client of the local stack')))
  })

  it('goes back as far as there is anything', async () => {
    const token = await sessionToken(OWNER)
    for (let number = 0; number < 51; number++) {
      const { clientId } = await createClient(token, { name: `Many ${number}` })
      await api(`/v1/vendor/ven_acme/oauth-clients/${clientId}/revoke`, { token, method: 'POST' })
    }
    tab = await visit({ sessionToken: token, path: '/ven_acme/activity' })
    let total = 0
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query: string = cursor && `&cursor=${cursor}`
      const { entries, nextCursor } = await api(`/v1/vendor/ven_acme/activity?limit=200${query}`, { token })
      total += entries.length
      cursor = nextCursor
    }
    const items = tab.page.locator('main').getByRole('listitem')
    for (let shown = 50; shown < total; shown += 50) {
      await tab.page.getByRole('button', { name: 'Show more' }).click()
      await items.nth(shown).waitFor()
    }
    assert.equal(await items.count(), total)
    await items.last().filter({ hasText: 'Demo client of the local stack' }).waitFor()
  })
})
