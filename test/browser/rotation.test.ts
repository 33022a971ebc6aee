import { strict as assert } from 'node:assert'
import { eventually } from '../support/eventually.ts'
import { CLIENTS, createClient, OWNER, requestToken, untilUsed, visit } from '../support/workspace.ts'

describe('workspace: the rotation of a client', () => {
  it('says that nothing can be read while offline, and reads it again after', async () => {
    const old = await createClient({ name: 'Away' })
    await createClient({ name: 'Away 2', replaces: old.clientId })
    await requestToken(old)
    await untilUsed(old.clientId)
    const { page, context } = await visit({ as: OWNER, path: `${CLIENTS}/${old.clientId}/rotate` })
    const unread = page.getByRole('status').filter({ hasText: 'The use of these clients cannot be read' })
    await page.getByText(/^Last used on/).waitFor()
    await context.setOffline(true)
    await unread.waitFor()
    await context.setOffline(false)
    await unread.waitFor({ state: 'detached' })
  })

  it('is read again every three seconds, and what other screens show at times of their own', async () => {
    const old = await createClient({ name: 'Watched' })
    const { clientId } = await createClient({ name: 'Watched 2', replaces: old.clientId })
    const { page, baseUrl, isIdle } = await visit({ as: OWNER, path: '/favicon.svg', clock: true })
    await page.clock.pauseAt(Date.now() + 1_000)
    const screen = `${CLIENTS}/${old.clientId}`
    const found = '?status=Active&secretFound=true&limit=50'
    for (const [path, reads] of [
      [`${screen}/rotate`, { [`/${old.clientId}`]: 3, [`/${clientId}`]: 3, '/rotation': 3, '/usage': 10 }],
      [screen, { [`/${old.clientId}`]: 10, '/requests': 10, '/usage': 30, [found]: 30 }],
      [CLIENTS, { '?status=Active&limit=200': 20, '?status=Revoked&limit=200': 60 }],
      ['/ven_acme/people', { '/people?limit=200': 20 }],
      ['/ven_acme/activity', { '/activity?limit=50': 30 }],
      ['/ven_acme/analytics', { '/analytics/daily': 60 }],
    ] as const) {
      await page.goto(baseUrl + path)
      await page.locator('h1:not(.sr-only)').waitFor()
      await page.getByRole('status').getByText('Loading').first().waitFor({ state: 'detached' })
      await eventually(isIdle)
      const asked = await page.evaluateHandle(() => {
        const [{ fetch }, start_ms, times] = [window, Date.now(), {} as Record<string, number>]
        window.fetch = (request, init) => {
          times[(request as Request).url] ??= (Date.now() - start_ms) / 1_000
          return fetch(request, init)
        }
        return times
      })
      await page.clock.runFor(60_000)
      const times = Object.entries(await asked.jsonValue())
      for (const [read, seconds] of Object.entries(reads))
        assert.equal(times.find(([url]) => url.endsWith(read))?.[1], seconds, `${path}: ${read}`)
    }
  })
})
