import {
  CLIENTS,
  createClient,
  OWNER,
  requestToken,
  untilReported,
  untilUsed,
  visit,
} from '../support/workspace.ts'

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

  it('is read again every three seconds', async () => {
    const old = await createClient({ name: 'Watched' })
    const { clientId } = await createClient({ name: 'Watched 2', replaces: old.clientId })
    const { page } = await visit({ as: OWNER, path: `${CLIENTS}/${old.clientId}/rotate`, clock: true })
    await page.getByText('Next: deploy the replacement').waitFor()
    await page.clock.pauseAt(Date.now() + 60_000)
    const reads = [`/${old.clientId}`, `/${clientId}`, `/${old.clientId}/rotation`]
    // The first answers may have been asked for before.
    for (let seconds = 0; seconds < 12; seconds += 3) {
      const answers = reads.map((path) => page.waitForResponse((response) => response.url().endsWith(path)))
      await page.clock.runFor(3_000)
      for (const answer of await Promise.all(answers)) await answer.finished()
      await untilReported(page)
    }
  })
})
