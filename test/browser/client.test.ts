import { CLIENTS, createClient, OWNER, visit } from '../support/workspace.ts'

describe('workspace: one client', () => {
  it('says that what is shown may be out of date once it cannot be read again', async () => {
    const { clientId } = await createClient({ name: 'Read once' })
    const { page } = await visit({ as: OWNER, path: `${CLIENTS}/${clientId}` })
    await page.getByText('None on record.').waitFor()
    await page.route(`**/oauth-clients/${clientId}`, (route) => route.fulfill({ status: 503 }))
    await page.getByRole('status').filter({ hasText: 'This may be out of date' }).waitFor()
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('This may be out of date').waitFor({ state: 'detached' })
  })
})
