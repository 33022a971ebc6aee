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

  it('is read again every three seconds, and what other screens show within a minute', async () => {
    const old = await createClient({ name: 'Watched' })
    const { clientId } = await createClient({ name: 'Watched 2', replaces: old.clientId })
    const { page, baseUrl, isIdle } = await visit({ as: OWNER, path: '/favicon.svg', clock: true })
    await page.clock.pauseAt(Date.now() + 1_000)
    const screen = `${CLIENTS}/${old.clientId}`
    for (const [path, seconds, reads] of [
      [`${screen}/rotate`, 3, [`/${old.clientId}`, `/${clientId}`, `/${old.clientId}/rotation`]],
      [screen, 30, [`/${old.clientId}`, '/requests', '/usage', '?status=Active&secretFound=true&limit=50']],
      [CLIENTS, 60, ['?status=Active&limit=200', '?status=Revoked&limit=200']],
      ['/ven_acme/people', 20, ['/people?limit=200']],
      ['/ven_acme/activity', 30, ['/activity?limit=50']],
      ['/ven_acme/analytics', 60, ['/analytics/daily']],
    ] as const) {
      await page.goto(baseUrl + path)
      await page.locator('h1:not(.sr-only)').waitFor()
      await page.getByRole('status').getByText('Loading').first().waitFor({ state: 'detached' })
      await eventually(isIdle)
      const asked = reads.map((read) => page.waitForRequest((request) => request.url().endsWith(read)))
      await page.clock.runFor(seconds * 1_000)
      await Promise.all(asked)
    }
  })
})
