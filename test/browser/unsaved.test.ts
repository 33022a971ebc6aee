import { strict as assert } from 'node:assert'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Dialog } from 'playwright-core'
import { OWNER, type Visit, visit } from '../support/workspace.ts'

describe('workspace: a secret on the screen', function () {
  this.timeout(60_000)
  let tab: Visit
  afterEach(() => tab?.leave())

  it('is in no storage while it is shown, and the tab asks before it closes until it is saved', async () => {
    tab = await visit({ as: OWNER, path: '/ven_acme/integrations/oauth2-clients' })
    const { page } = tab
    await page.getByRole('button', { name: 'Create client' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Kept nowhere')
    await dialog.getByRole('checkbox', { name: /Read daily analytics/ }).check()
    await dialog.getByRole('button', { name: 'Create client' }).click()
    const secret = (await dialog
      .getByText(/^ias_\w+$/)
      .first()
      .textContent()) as string
    assert.match(secret, /^ias_/)
    const stored = await page.evaluate(() =>
      JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie, history.state]),
    )
    assert.equal(stored.includes(secret), false)

    const asked = await Promise.race([
      new Promise<string>((resolve) => {
        page.once('dialog', (question: Dialog) => {
          resolve(question.type())
          void question.dismiss()
        })
        void page.close({ runBeforeUnload: true })
      }),
      sleep(5_000, 'nothing'),
    ])
    assert.equal(asked, 'beforeunload')
    assert.equal(page.isClosed(), false)
  })
})
