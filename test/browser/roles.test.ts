import { strict as assert } from 'node:assert'
import { generateKeyPairSync } from 'node:crypto'
import type { Page } from 'playwright-core'
import { SCREENS } from '../../apps/workspace/src/api/screens.ts'
import { eventually } from '../support/eventually.ts'
import {
  api,
  assertAccessible,
  assertFits,
  createClient,
  invite,
  join,
  MEMBER,
  requestToken,
  revokeClient,
  SUSPENDED,
  untilExplained,
  untilReported,
  vendorApi,
  visit,
} from '../support/workspace.ts'

const PATHS = Object.values(SCREENS).map((screen) => screen.replace(/:id\??/, 'some-id'))

describe('workspace: whoever may not', () => {
  for (const [email, screens, title, request] of [
    [MEMBER, PATHS, 'You have no access yet', 'to make you a viewer or an admin.'],
    [SUSPENDED, ['people'], 'You are suspended', 'to lift the suspension.'],
  ] as const)
    it(`shows ${email} whom to ask in place of a screen, offers none to jump to, and requests nothing from the API`, async () => {
      const { page, baseUrl } = await visit({ as: email, path: '/favicon.svg' })
      const asked: string[] = []
      page.on('request', (request) => {
        if (request.url().includes('/v1/vendor/')) asked.push(request.url())
      })
      for (const path of screens) {
        await page.goto(`${baseUrl}/ven_acme/${path}`)
        await page.getByRole('heading', { name: title, level: 1 }).waitFor()
        await page.getByText(`Ask Olivia Brandt, who owns the company, ${request}`).waitFor()
        for (const part of ['navigation', 'alert'] as const)
          assert.equal(await page.getByRole(part).count(), 0)
      }
      await page.keyboard.press('Control+k')
      await page.getByRole('option', { name: 'API documentation' }).waitFor()
      assert.equal(await page.getByRole('option').count(), 1)
      await untilReported(page)
      assert.deepEqual(asked, [])
    })
})

const CLIENTS = 'integrations/oauth2-clients'
/** Controls that show, find or copy something. Every other one acts. */
const HARMLESS = [
  /^(Copy|Open|Show|Review|Search|Download|Explain$|Request id|A token of|curl|\.env|401)/,
  /^(Active|Revoked|All|Granted|Refused|Client|Last used|Expires|Added)/,
  /^(\d+ (days|months|clients?|revoked) ?|First|Last|Compare|Impr|Clicks|Orders|Units|Revenue|Boost)/,
]

describe('workspace: a viewer', () => {
  const created: string[] = []
  let viewer: string
  let screens: Record<string, string>

  before(async () => {
    const person = { name: 'Vic Viewer', email: 'vic@acme.example', role: 'viewer' }
    viewer = (await join(await invite(person))).sessionToken
    const create = async (name: string, more = {}) => {
      const client = await createClient({ name: `Viewed ${name}`, ...more })
      created.push(client.clientId)
      return client
    }
    const expiresAt = new Date(Date.now() + 20 * 86_400_000).toISOString()
    const old = await create('old', { expiresAt, scopes: ['analytics:read', 'boost:read'] })
    const { clientId: replacement } = await create('replacement', { replaces: old.clientId })
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const keys = { keys: [{ ...publicKey.export({ format: 'jwk' }), alg: 'ES256', kid: 'a' }] }
    const trust = { issuer: 'https://viewed.example', claims: { sub: 'a' }, keys }
    const { clientId: workload } = await create('workload', { workload: trust })
    await api('/v1/found-secrets', { body: { secrets: [old.clientSecret] } })
    const wrong = { clientId: replacement, clientSecret: 'wrong', scope: 'boost:read' }
    const requestId = await untilExplained(await requestToken(wrong))
    const readOld = () => vendorApi(`/oauth-clients/${old.clientId}`)
    await eventually(async () => (await readOld()).secretFoundAt !== null)
    screens = {
      [CLIENTS]: 'OAuth2 Clients',
      [`${CLIENTS}?new&show=all`]: 'OAuth2 Clients',
      [`${CLIENTS}/${old.clientId}`]: 'Viewed old',
      [`${CLIENTS}/${replacement}`]: 'Viewed replacement',
      [`${CLIENTS}/${workload}`]: 'Viewed workload',
      [`${CLIENTS}/${old.clientId}/rotate`]: 'Rotate the secret of Viewed old',
      [`${CLIENTS}/${workload}/rotate`]: 'Replace Viewed workload',
      'integrations/webhooks': 'Callback URL',
      analytics: 'Analytics',
      [`explain/${requestId}`]: 'Explain a refusal',
      activity: 'You have no access to this page',
      people: 'You have no access to this page',
      nothing: 'Page not found',
    }
  })
  after(() => Promise.all(created.map((clientId) => revokeClient(clientId))))

  const controlsOf = (page: Page): Promise<string[]> =>
    page
      .getByRole('main')
      .locator('button, input, textarea, select, dd a[href$="/rotate"], a[href*="/activity"]')
      .evaluateAll((all) =>
        (all as HTMLInputElement[]).map(
          ({ ariaLabel, labels, textContent }) => ariaLabel ?? labels?.[0]?.textContent ?? textContent ?? '',
        ),
      )

  it('sees each screen that a viewer may, without a refused request or a control that acts', async () => {
    const { page, baseUrl } = await visit({ sessionToken: viewer, path: '/favicon.svg' })
    const refused: string[] = []
    page.on('response', (response) => {
      if (response.status() >= 400) refused.push(`${response.status()} ${response.url()}`)
    })
    for (const [path, title] of Object.entries(screens)) {
      await page.goto(`${baseUrl}/ven_acme/${path}`)
      await page.getByRole('heading', { name: title, level: 1 }).waitFor()
      const readOnly = page.getByText('You can look but not change anything. Ask Olivia Brandt')
      if (/not found|no access/.test(title)) assert.equal(await readOnly.count(), 0, path)
      else await readOnly.waitFor()
      await page.waitForLoadState('networkidle')
      if (title === 'Viewed old') await page.getByText(/^Ask Olivia Brandt.+ to revoke it\./).waitFor()
      const acting = (await controlsOf(page)).filter((name) => !HARMLESS.some((known) => known.test(name)))
      assert.deepEqual(acting, [], path)
      await assertAccessible(page)
      await assertFits(page)
    }
    await untilReported(page)
    assert.deepEqual(refused, [])
  })
})
