import { strict as assert } from 'node:assert'
import { leaveVisits, MEMBER, SUSPENDED, untilReported, visit } from '../support/workspace.ts'

const SCREENS = [
  'integrations/oauth2-clients',
  'integrations/oauth2-clients/cli_0000000000000000000000',
  'integrations/oauth2-clients/cli_0000000000000000000000/rotate',
  'integrations/webhooks',
  'analytics',
  'activity',
  'people',
  'explain/some-request',
]

describe('workspace: whoever may not', () => {
  afterEach(leaveVisits)

  for (const [email, screens, title, sentence] of [
    [
      MEMBER,
      SCREENS,
      'You have no access yet',
      /Ask Olivia Brandt, who owns the company, to make you an admin\./,
    ],
    [
      SUSPENDED,
      ['people'],
      'You are suspended',
      /Ask Olivia Brandt, who owns the company, to lift the suspension\./,
    ],
  ] as const) {
    it(`shows ${email} whom to ask in place of a screen, and requests nothing from the API`, async () => {
      const { page, baseUrl } = await visit({ as: email, path: '/favicon.svg' })
      const asked: string[] = []
      page.on('request', (request) => {
        if (request.url().includes('/v1/vendor/')) asked.push(request.url())
      })
      for (const path of screens) {
        await page.goto(`${baseUrl}/ven_acme/${path}`)
        await page.getByRole('heading', { name: title, level: 1 }).waitFor()
        assert.match(await page.getByRole('main').innerText(), sentence)
        for (const part of ['navigation', 'alert'] as const)
          assert.equal(await page.getByRole(part).count(), 0)
      }
      await untilReported(page)
      assert.deepEqual(asked, [])
    })
  }
})
