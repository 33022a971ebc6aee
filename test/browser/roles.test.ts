import { strict as assert } from 'node:assert'
import { MEMBER, SUSPENDED, type Visit, visit } from '../support/workspace.ts'

const SCREENS = [
  { path: 'integrations/oauth2-clients', title: 'OAuth2 Clients' },
  { path: 'integrations/oauth2-clients/cli_0000000000000000000000', title: 'OAuth2 client' },
  { path: 'integrations/oauth2-clients/cli_0000000000000000000000/rotate', title: 'Rotate' },
  { path: 'integrations/webhooks', title: 'Webhooks' },
  { path: 'analytics', title: 'Analytics' },
  { path: 'activity', title: 'Activity' },
]

describe('workspace: whoever may not', function () {
  this.timeout(60_000)
  let tab: Visit
  afterEach(() => tab?.leave())

  for (const [email, why] of [
    [MEMBER, 'your role here is Member'],
    [SUSPENDED, 'your membership is suspended'],
  ] as const) {
    it(`is told so on every screen, and nothing is asked of the API: ${email}`, async () => {
      tab = await visit({ as: email })
      const asked: string[] = []
      tab.page.on('request', (request) => {
        if (request.url().includes('/v1/vendor/')) asked.push(request.url())
      })
      for (const { path, title } of SCREENS) {
        await tab.page.goto(`${tab.baseUrl}/ven_acme/${path}`)
        await tab.page.getByRole('heading', { name: title, level: 1 }).waitFor()
        await tab.page
          .getByText(`Only the owner and active admins of Acme Outfitters can do this; ${why}.`)
          .filter({ visible: true })
          .first()
          .waitFor()
      }
      assert.deepEqual(asked, [])
    })
  }

  it('finds the reason on the control itself, and pressing it does nothing', async () => {
    tab = await visit({ as: MEMBER })
    const button = tab.page.getByRole('button', { name: 'Create client' })
    await button.waitFor()
    assert.equal(await button.getAttribute('aria-disabled'), 'true')
    await button.focus()
    await tab.page.keyboard.press('Enter')
    assert.equal(await tab.page.getByRole('dialog').count(), 0)
    const reason = await button.getAttribute('aria-describedby')
    assert.match((await tab.page.locator(`[id="${reason}"]`).textContent()) ?? '', /your role here is Member/)
  })
})
