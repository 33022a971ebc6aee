import { strict as assert } from 'node:assert'
import type { Page } from 'playwright-core'
import { createClock } from '../../apps/workspace/src/api/time.ts'
import { closeReveal, readReveal } from '../support/reveal.ts'
import {
  ADMIN,
  api,
  assertAccessible,
  assertFits,
  createClient,
  leaveVisits,
  OWNER,
  requestToken,
  sessionToken,
  testWorkspace,
  visit,
} from '../support/workspace.ts'
import { createPastUse, every, type Past } from './past-use.ts'

const CLIENTS = '/ven_acme/integrations/oauth2-clients'
const HOUR = 60
const DAY = 24 * HOUR

interface Pair {
  old: string
  secret: string
  replacement: string
}

async function revoke(clientId: string): Promise<void> {
  const token = await sessionToken(OWNER)
  await api(`/v1/vendor/ven_acme/oauth-clients/${clientId}/revoke`, { token, method: 'POST' })
}

const readRotation = async (clientId: string) =>
  api(`/v1/vendor/ven_acme/oauth-clients/${clientId}/rotation`, { token: await sessionToken(OWNER) })

const { weekdayTime } = createClock('Europe/Berlin')
const said = (at: string): string => weekdayTime(new Date(at))

describe('workspace: the rotation of a client', () => {
  afterEach(leaveVisits)

  /** Opens the rotation of two new clients that have this past. */
  async function rotating(name: string, prepare: (past: Past, pair: Pair) => Promise<unknown>) {
    const token = await sessionToken(OWNER)
    const { clientId: old, clientSecret: secret } = await createClient(token, { name })
    const { clientId: replacement } = await createClient(token, { name: `${name} 2`, replaces: old })
    const pair = { old, secret, replacement }
    await using past = await createPastUse((await testWorkspace()).stack)
    await prepare(past, pair)
    return { ...(await visit({ sessionToken: token, path: `${CLIENTS}/${old}/rotate` })), pair }
  }

  const bothUsed = async (past: Past, { old, replacement }: Pair) => {
    await past.used(old, [...every(DAY, 9 * DAY, 3 * DAY), 2 * HOUR], '203.0.113.7')
    await past.used(old, [8 * DAY], '198.51.100.7')
    await past.used(replacement, every(HOUR, 10 * HOUR, HOUR), '203.0.113.7')
  }

  it('shows the last use of both clients, the longest time between two, two charts and each address', async () => {
    const { page, pair } = await rotating('Both', bothUsed)
    const { old, replacement } = await readRotation(pair.old)
    const before = page.getByRole('region', { name: 'Old: Both', exact: true })
    await before.getByText(`Last used on ${said(old.lastUsedAt)} (2 hours ago).`).waitFor()
    await before.getByText(/Longest time between two uses since .+: 2 days 22 hours\.$/).waitFor()
    await before.getByRole('img', { name: /9 tokens issued, no requests refused\.$/ }).waitFor()
    const after = page.getByRole('region', { name: 'Replacement: Both 2' })
    await after
      .getByText(
        `Last used on ${said(replacement.lastUsedAt)} (1 hour ago). First used on ${said(replacement.firstUsedAt)}.`,
      )
      .waitFor()
    await after.getByRole('img', { name: /10 tokens issued, no requests refused\.$/ }).waitFor()
    const rows = await page.getByRole('row').allInnerTexts()
    const [busy, rare] = old.addresses.map(({ lastUsedAt }: { lastUsedAt: string }) => said(lastUsedAt))
    assert.deepEqual(rows.map((row) => row.split('\t')).slice(1), [
      ['203.0.113.7', busy, said(replacement.lastUsedAt)],
      ['198.51.100.7', rare, 'None'],
    ])
    await assertAccessible(page)
    for (const [width, theme] of [
      [390, 'light'],
      [320, 'dark'],
    ] as const) {
      await page.setViewportSize({ width, height: 800 })
      await page.emulateMedia({ colorScheme: theme })
      await assertFits(page)
      await assertAccessible(page, ['color-contrast'])
    }
  })

  it('shows – for what cannot be read, and offers to revoke nevertheless', async () => {
    const { page, troubles } = await rotating('Away', bothUsed)
    await page.getByText(/^Last used on .+Longest time/).waitFor()
    await page.route(/\/(?:rotation|usage)$/, (route) => route.fulfill({ status: 503 }))
    await page.getByText('The use of these clients cannot be read right now').waitFor()
    const old = page.getByRole('region', { name: 'Old: Away', exact: true })
    await old.getByText('Last used: –.').waitFor()
    await old.getByText('Tokens per hour: –').waitFor()
    assert.equal(await page.getByRole('row').count(), 0)
    await page.getByRole('button', { name: 'Revoke Away' }).click()
    await page.getByText('Its replacement Away 2 keeps working.').waitFor()
    troubles.length = 0
  })

  it('says since when uses of the old client may be missing', async () => {
    const { page } = await rotating('Missing', bothUsed)
    const since = '2026-01-02T03:04:05.000Z'
    await page.route('**/rotation', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...(await response.json()), usesMissingSince: since } })
    })
    const old = page.getByRole('region', { name: 'Old: Missing', exact: true })
    await old.getByText(`Uses since ${said(since)} may be missing.`).waitFor()
  })

  it('shows what was refused since the old client was revoked, and by whom it was', async () => {
    const { page, baseUrl, pair } = await rotating('Refused', async (past, pair) => {
      await bothUsed(past, pair)
      await revoke(pair.old)
    })
    await page.getByText(/^Revoked .+ by Olivia Brandt\.$/).waitFor()
    await page.getByText(/^No requests on record since/).waitFor()
    for (let times = 0; times < 3; times += 1)
      await requestToken({ clientId: pair.old, clientSecret: pair.secret })
    await page.getByText(/^3 requests on record since .+, none accepted, the last from /).waitFor()
    assert.equal(await page.getByRole('button', { name: /Revoke/ }).count(), 0)
    await assertAccessible(page)
    await page.goto(`${baseUrl}${CLIENTS}/${pair.old}`)
    await page.getByRole('button', { name: 'Show the rotation' }).click()
    await page.getByText(/^3 requests on record since/).waitFor()
  })

  it('shows each pair of a chain, with a way to the next one and back', async () => {
    const token = await sessionToken(OWNER)
    const { page } = await rotating('Chain', async (past, pair) => {
      await bothUsed(past, pair)
      await createClient(token, { name: 'Chain 3', replaces: pair.replacement })
      for (const clientId of [pair.old, pair.replacement]) await revoke(clientId)
    })
    await page.getByRole('region', { name: 'Replacement: Chain 2' }).getByText('Revoked').waitFor()
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
    const old = await createClient(await sessionToken(OWNER), { name: 'Left alone' })
    const own = await visit({ as: OWNER, path: `${CLIENTS}/${old.clientId}/rotate` })
    await own.page.getByRole('button', { name: 'Create replacement' }).click()
    await own.page.getByRole('dialog').getByRole('button', { name: 'Create replacement' }).click()
    const replacement = await readReveal(own.page)
    await closeReveal(own.page)
    const unused = (page: Page) =>
      page.getByRole('region', { name: 'Replacement: Left alone 2' }).getByText('Never used.').waitFor()
    await unused(own.page)

    const { page, baseUrl } = await visit({ as: ADMIN, path: CLIENTS })
    await page.getByRole('link', { name: 'Replacement of Left alone' }).waitFor()
    await page.getByRole('link', { name: 'Being replaced by Left alone 2' }).click()
    await unused(page)
    assert.equal(await page.getByRole('button', { name: 'Create replacement' }).count(), 0)
    await requestToken(replacement)
    await page.getByText(/^Last used on .+First used on/).waitFor()

    await page.getByRole('link', { name: 'Back to the client' }).click()
    await page.getByText('This client is being replaced').waitFor()
    await page.getByRole('link', { name: 'Left alone 2' }).click()
    await page.getByText('This client replaces Left alone').waitFor()
    await page.getByRole('button', { name: 'Continue the rotation' }).click()
    await page.getByText(/^Last used on .+First used on/).waitFor()
    assert.match(page.url(), new RegExp(`${old.clientId}/rotate$`))
    await page.goto(`${baseUrl}${CLIENTS}`)
    await page.getByRole('link', { name: 'Replacement of Left alone' }).waitFor()
  })

  it('starts a rotation again after its replacement was revoked', async () => {
    const token = await sessionToken(OWNER)
    const old = await createClient(token, { name: 'Begun twice' })
    const first = await createClient(token, { name: 'Begun twice 2', replaces: old.clientId })
    await revoke(first.clientId)
    const { page } = await visit({ sessionToken: token, path: `${CLIENTS}/${old.clientId}/rotate` })
    await page.getByText('The last replacement, Begun twice 2, was revoked.').waitFor()
    await page.getByRole('button', { name: 'Create replacement' }).click()
    const dialog = page.getByRole('dialog')
    // Meanwhile a teammate does the same.
    await createClient(token, { name: 'Begun twice 3', replaces: old.clientId })
    await dialog.getByRole('button', { name: 'Create replacement' }).click()
    await dialog.getByText('This client can no longer be replaced').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('region', { name: 'Replacement: Begun twice 3' }).waitFor()
  })
})
