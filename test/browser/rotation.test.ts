import { strict as assert } from 'node:assert'
import {
  ADMIN,
  CLIENTS,
  createClient,
  OWNER,
  requestToken,
  revokeClient,
  untilReported,
  untilUsed,
  visit,
} from '../support/workspace.ts'

describe('workspace: the rotation of a client', () => {
  it('shows – for what cannot be read, and offers to revoke nevertheless', async () => {
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
    await page.route(/\/(?:rotation|usage)$/, (route) => route.fulfill({ status: 503 }))
    await unread.waitFor()
    const before = page.getByRole('region', { name: 'Old: Away', exact: true })
    await before.getByText('Last used: –.').waitFor()
    await before.getByText('Tokens per hour: –').waitFor()
    assert.equal(await page.getByRole('row').count(), 0)
    await page.getByRole('button', { name: 'Revoke Away' }).and(page.locator('.text-bad')).click()
    await page.getByText('Its replacement Away 2 keeps working.').waitFor()
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

  it('shows each pair of a chain, with a way to the next one and back', async () => {
    const first = await createClient({ name: 'Chain' })
    const second = await createClient({ name: 'Chain 2', replaces: first.clientId })
    await createClient({ name: 'Chain 3', replaces: second.clientId })
    for (const { clientId } of [first, second]) await revokeClient(clientId)
    const { page } = await visit({ as: OWNER, path: `${CLIENTS}/${first.clientId}` })
    await page.getByRole('button', { name: 'Show the rotation' }).click()
    await page.getByRole('region', { name: 'Replacement: Chain 2' }).getByText('Revoked').waitFor()
    assert.equal(await page.getByRole('button', { name: /Revoke/ }).count(), 0)
    await page.getByRole('link', { name: 'Chain 2' }).click()
    await page.getByRole('button', { name: 'Show the rotation' }).click()
    await page.getByRole('region', { name: 'Old: Chain 2' }).getByText('Revoked').waitFor()
    await page.getByRole('region', { name: 'Replacement: Chain 3' }).getByText('Never used.').waitFor()
    await page.getByRole('link', { name: 'Chain 3' }).click()
    await page.getByRole('link', { name: 'Chain 2' }).click()
    await page.getByRole('link', { name: 'Chain', exact: true }).click()
    await page.getByRole('heading', { name: 'Chain', exact: true }).waitFor()
  })

  it('lets a teammate see a rotation in the list and on both clients, and resume it', async () => {
    const old = await createClient({ name: 'Left alone' })
    const replacement = await createClient({ name: 'Left alone 2', replaces: old.clientId })
    const { page } = await visit({ as: ADMIN, path: CLIENTS })
    const rotation = page.getByRole('link', { name: 'Replacement of Left alone' })
    assert.equal(await rotation.getAttribute('href'), `${CLIENTS}/${old.clientId}/rotate`)
    await page.getByRole('link', { name: 'Being replaced by Left alone 2' }).click()
    const after = page.getByRole('region', { name: 'Replacement: Left alone 2' })
    await after.getByText('Never used.').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Create replacement' }).count(), 0)
    await requestToken(replacement)
    await after.getByText(/^Last used on .+First used on/).waitFor()

    await page.getByRole('link', { name: 'Back to the client' }).click()
    await page.getByText('This client is being replaced').waitFor()
    await page.getByRole('link', { name: 'Left alone 2' }).click()
    await page.getByText('This client replaces Left alone').waitFor()
    await page.getByRole('button', { name: 'Continue the rotation' }).click()
    await after.waitFor()
    assert.match(page.url(), new RegExp(`${old.clientId}/rotate$`))
  })

  it('starts a rotation again after its replacement was revoked', async () => {
    const old = await createClient({ name: 'Begun twice' })
    await revokeClient((await createClient({ name: 'Begun twice 2', replaces: old.clientId })).clientId)
    const { page } = await visit({ as: OWNER, path: `${CLIENTS}/${old.clientId}/rotate` })
    await page.getByRole('button', { name: 'Create replacement' }).click()
    const dialog = page.getByRole('dialog')
    // Meanwhile a teammate does the same.
    await createClient({ name: 'Begun twice 3', replaces: old.clientId })
    await dialog.getByRole('button', { name: 'Create replacement' }).click()
    await dialog.getByText('This client can no longer be replaced').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('region', { name: 'Replacement: Begun twice 3' }).waitFor()
  })
})
