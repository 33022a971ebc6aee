import { strict as assert } from 'node:assert'
import type { Page } from 'playwright-core'
import { clockShort, day, near, setZone } from '../../apps/workspace/src/api/time.ts'
import { eventually } from '../support/eventually.ts'
import { every, type Past, pastOf } from '../support/past-use.ts'
import { closeReveal, revealed } from '../support/reveal.ts'
import {
  ADMIN,
  api,
  assertAccessible,
  assertFits,
  createClient,
  OWNER,
  requestToken,
  sessionToken,
  testWorkspace,
  untilUsed,
  type Visit,
  visit,
} from '../support/workspace.ts'

const CLIENTS = '/ven_acme/integrations/oauth2-clients'
const HOUR = 60
const DAY = 24 * HOUR

interface Pair {
  old: string
  secret: string
  replacement: string
}

/** Until this many minutes ago. */
const nightly = (last: number) => every(DAY, last + Math.floor((13 * DAY - last) / DAY) * DAY, last)

async function deployed(past: Past, replacement: string, address?: string): Promise<void> {
  await past.putAway(replacement, 11 * HOUR)
  await past.used(replacement, [...every(HOUR, 10 * HOUR, HOUR), 1], address)
}

const ARMABLE = ['not_deployed', 'trial', 'replacement_silent', 'waiting']

const STATES: {
  state: string
  prepare: (past: Past, pair: Pair) => Promise<unknown>
  says: (string | RegExp)[]
  step?: string
}[] = [
  {
    state: 'not_deployed',
    prepare: (past, { old }) => past.used(old, nightly(12 * HOUR)),
    says: ['No token request yet', 'The replacement has never got a token.', /1 token a day would fail/],
    step: 'Deploy it',
  },
  {
    state: 'in_use',
    async prepare(past, { old, replacement }) {
      await past.used(old, [...nightly(DAY), 2])
      await deployed(past, replacement)
    },
    says: ['In use now', /^The old client got a token \d minutes ago\./],
    step: 'Watch token requests move over',
  },
  {
    state: 'unused',
    prepare: (past, { replacement }) => deployed(past, replacement),
    says: ['Never used', 'If revoked now: no known use would fail. It has never got a token.'],
    step: 'Watch token requests move over',
  },
  {
    state: 'no_rhythm',
    async prepare(past, { old, replacement }) {
      await past.used(old, [6 * DAY])
      await deployed(past, replacement)
    },
    says: [
      'No rhythm known',
      /^No rhythm known: its only known use was on /,
      'If revoked now: no known use would fail, but no rhythm is known of it',
    ],
    step: 'Watch token requests move over',
  },
  {
    state: 'replacement_silent',
    async prepare(past, { old, replacement }) {
      await past.used(old, every(2 * HOUR, 4 * DAY, 5 * HOUR))
      await past.putAway(replacement, 8 * HOUR)
      await past.used(replacement, every(10, 6 * HOUR, 4 * HOUR))
    },
    says: [
      'No requests for longer than expected',
      /^The replacement has got no token for longer than expected/,
    ],
    step: 'Watch token requests move over',
  },
  {
    state: 'waiting',
    async prepare(past, { old, replacement }) {
      await past.used(old, nightly(12 * HOUR))
      await deployed(past, replacement)
    },
    says: ['Next use may be ahead', /has paused for up to 24 hours before\. Its next use is expected by /],
    step: 'Watch token requests move over',
  },
  {
    state: 'safe',
    async prepare(past, { old, replacement }) {
      await past.used(old, nightly(31 * HOUR))
      await past.putAway(replacement, 40 * HOUR)
      await past.used(replacement, [...every(HOUR, 30 * HOUR, HOUR), 1])
    },
    says: ['No longer used', /has paused for longer than ever before \(24 hours\)\./, 'moved'],
    step: 'Revoke the old client',
  },
  {
    state: 'complete',
    async prepare(past, { old, replacement }) {
      await past.used(old, nightly(31 * HOUR))
      await past.putAway(replacement, 40 * HOUR)
      await past.used(replacement, [...every(HOUR, 30 * HOUR, HOUR), 1])
      await revoke(old)
    },
    says: ['complete is revoked. The rotation is complete.'],
  },
  {
    state: 'revoked',
    async prepare(past, { old }) {
      await past.used(old, nightly(12 * HOUR))
      await revoke(old)
    },
    says: ['It is not known whether a replacement is in use', 'revoked is revoked.'],
    step: 'Deploy it',
  },
  {
    state: 'refused',
    async prepare(past, { old, secret }) {
      await past.used(old, nightly(12 * HOUR))
      await revoke(old)
      for (let times = 0; times < 3; times += 1) await requestToken({ clientId: old, clientSecret: secret })
    },
    says: [
      /^3 requests with the old secret were refused since you revoked it, from /,
      'Revoked, and still used',
      /tokens, 3 refused\./,
    ],
    step: 'Deploy it',
  },
]

async function revoke(clientId: string): Promise<void> {
  const token = await sessionToken(OWNER)
  await api(`/v1/vendor/ven_acme/oauth-clients/${clientId}/revoke`, { token, method: 'POST' })
}

const clockOf = (at: string): string => near(new Date(at), new Date())

const rotationOf = async ({ old }: Pair) =>
  api(`/v1/vendor/ven_acme/oauth-clients/${old}/rotation`, { token: await sessionToken(OWNER) })

describe('workspace: the rotation of a client', () => {
  before(() => setZone('Europe/Berlin'))
  after(() => setZone(undefined))
  let tab: Visit
  afterEach(() => tab?.leave())

  /** Opens the rotation of two new clients that have this past. */
  async function rotating(
    name: string,
    prepare: (past: Past, pair: Pair) => Promise<unknown>,
  ): Promise<{ page: Page; pair: Pair }> {
    const token = await sessionToken(OWNER)
    const { clientId: old, clientSecret: secret } = await createClient(token, { name })
    const { clientId: replacement } = await createClient(token, { name: `${name} 2`, replaces: old })
    const pair = { old, secret, replacement }
    await using past = await pastOf((await testWorkspace()).stack)
    await prepare(past, pair)
    tab = await visit({ sessionToken: token, path: `${CLIENTS}/${old}/rotate` })
    return { page: tab.page, pair }
  }

  it('counts a token from before the secret was put away as a trial, not as a deployment', async () => {
    const old = await createClient(await sessionToken(OWNER), { name: 'Only tried' })
    await requestToken(old)
    tab = await visit({ as: OWNER, path: `${CLIENTS}/${old.clientId}/rotate` })
    const { page } = tab
    await page.getByText('Do this last, when the replacement has taken over.').waitFor()
    await page.getByRole('button', { name: 'Create replacement' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Create replacement' }).click()
    const replacement = await revealed(page)
    await requestToken(replacement)
    await page.getByText(/the id and secret work/).waitFor()
    await closeReveal(page, 'Continue the rotation')
    await page.getByText('Test requests only so far').waitFor()
    assert.equal(await currentStep(page), 'Deploy it')
    const token = await sessionToken(OWNER)
    const { secretPutAwayAt } = await api(`/v1/vendor/ven_acme/oauth-clients/${old.clientId}/rotation`, {
      token,
    })
    assert.equal(typeof secretPutAwayAt, 'string')
    assert.equal(page.url().includes('?'), false)
  })

  for (const { state, prepare, says, step } of STATES)
    it(`shows a rotation as the service judges it: ${state}`, async () => {
      const { page, pair } = await rotating(state, prepare)
      for (const text of says) await page.getByText(text).first().waitFor()
      assert.equal((await rotationOf(pair)).state, state)
      if (step) assert.equal(await currentStep(page), step)
      const arms = page.getByRole('button', { name: /^Revoke (?:when|at|as soon as) / })
      assert.equal(await arms.count(), ARMABLE.includes(state) ? 1 : 0)
    })

  it('draws both clients on one axis, with the expected next use of the old one and each of its addresses', async () => {
    const { page, pair } = await rotating('Nightly', async (past, { old, replacement }) => {
      await past.used(old, nightly(3 * DAY + 13 * HOUR), '198.51.100.7')
      await past.used(old, nightly(12 * HOUR), '203.0.113.7')
      await past.used(old, [9 * DAY], '192.0.2.9')
      await deployed(past, replacement, '198.51.100.7')
    })
    const { expectedNextUseAt, safeFrom } = await rotationOf(pair)
    const expected = near(new Date(expectedNextUseAt), new Date())
    const old = page.getByRole('region', { name: 'Old: Nightly', exact: true })
    await old.getByText(`Expected again by ${expected}, and not safe before ${clockOf(safeFrom)}.`).waitFor()
    await old.getByText('In 14 days: 24 tokens.').waitFor()
    await page
      .getByRole('region', { name: 'Replacement: Nightly 2' })
      .getByText('In 14 days: 11 tokens.')
      .waitFor()
    for (const [address, said] of [
      ['203.0.113.7', 'not yet moved'],
      ['198.51.100.7', 'moved'],
      ['192.0.2.9', 'unknown whether it moved'],
    ] as const)
      await page.getByRole('listitem').filter({ hasText: address }).getByText(said, { exact: true }).waitFor()

    const places = await page.evaluate(() => {
      const middle = (selector: string) => {
        const [at] = document.querySelectorAll(selector)
        if (!at) return Number.NaN
        const { left, width } = at.getBoundingClientRect()
        return left + width / 2
      }
      return ['.lane line.timeline-now', '.track-expected', '.lane + .lane line.timeline-now'].map(middle)
    })
    const [now = 0, mark = 0, nowOfOld = 0] = places
    assert.ok(now < mark, `now at ${now}, the expected use at ${mark}`)
    assert.equal(now, nowOfOld)
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
    // What was known before the service stopped answering may no longer be true.
    await page.route('**/rotation', (route) => route.fulfill({ status: 503 }))
    await page.getByText('If revoked now: unknown. Its usage cannot be read.').waitFor()
    assert.equal(await page.locator('.track-expected').count(), 0)
    assert.equal(await page.getByText(/moved|Expected again/).count(), 0)
    assert.equal(await page.locator('.step-done').count(), 1)
    tab.troubles.length = 0
  })

  it('says what would fail wherever one can revoke', async () => {
    const { page, pair } = await rotating('Twice', async (past, { old, replacement }) => {
      for (const address of ['198.51.100.7', '203.0.113.7']) await past.used(old, nightly(12 * HOUR), address)
      await deployed(past, replacement)
    })
    const would = 'If revoked now: 2 addresses, about 2 tokens a day would fail'
    await page.getByText(would).waitFor()
    await page.getByRole('button', { name: 'Revoke the old client' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('It may still be in use').waitFor()
    await dialog.getByText(would).waitFor()
    await dialog.getByText('not yet moved').first().waitFor()
    await assertAccessible(page)
    await page.goto(`${tab.baseUrl}${CLIENTS}/${pair.old}`)
    await page.getByText('This client is being replaced').waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search or jump to' }).fill('revoke twice')
    await page.getByRole('option', { name: 'Revoke Twice', exact: true }).click()
    await dialog.getByText(would).waitFor()
    await page.goto(`${tab.baseUrl}${CLIENTS}`)
    await page.getByText('May still be used').first().waitFor()
    await page.getByRole('button', { name: 'Actions for Twice', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Revoke' }).click()
    await dialog.getByText(would).waitFor()
  })

  it('says who armed a revocation, when, until when it waits and what cancels it, to everyone', async () => {
    const { page, pair } = await rotating('Armed', async (past, { old, replacement }) => {
      await past.used(old, nightly(12 * HOUR))
      await deployed(past, replacement)
    })
    const { expectedNextUseAt, safeFrom } = await rotationOf(pair)
    const arm = page.getByRole('button', {
      name: `Revoke when ${clockOf(expectedNextUseAt)} has passed without the old secret`,
    })
    await arm.focus()
    await page.keyboard.press('Enter')
    await page.getByText('Armed by you on ').waitFor()
    const { armed } = await rotationOf(pair)
    const [when, waits] = [
      `${day(new Date(armed.at))} at ${clockShort(new Date(armed.at))}`,
      `The service revokes the old client at ${clockOf(safeFrom)} at the earliest, once the replacement is in use. Any use of the old client before then cancels this.`,
    ]
    await page.getByText(`Armed by you on ${when}`).waitFor()
    await page.getByText(waits).waitFor()
    const disarm = page.getByRole('button', { name: 'Disarm' })
    assert.equal(await disarm.evaluate((button) => button === document.activeElement), true)
    await assertAccessible(page)
    await tab.leave()

    tab = await visit({ as: ADMIN, path: `${CLIENTS}/${pair.old}/rotate` })
    await tab.page.getByText(`Armed by Olivia Brandt on ${when}`).waitFor()
    await tab.page.getByText(waits).waitFor()
    await tab.page.getByRole('button', { name: 'Disarm' }).click()
    await tab.page.getByRole('button', { name: /^Revoke when / }).waitFor()
    assert.equal(await tab.page.getByText(/^Armed by/).count(), 0)
    await tab.page.goto(`${tab.baseUrl}/ven_acme/activity?client=${pair.old}`)
    await tab.page.getByText('disarmed the revocation of the client Armed').waitFor()
    await tab.page.getByText('armed the revocation of the client Armed, for when it is safe').waitFor()
  })

  it('shows that a use of the old client has disarmed its revocation, and why', async () => {
    const { page, pair } = await rotating('Used again', async (past, { old, replacement }) => {
      await past.used(old, nightly(12 * HOUR))
      await deployed(past, replacement)
    })
    await page.getByRole('button', { name: /^Revoke when / }).click()
    await page.getByText('Armed by you on ').waitFor()
    assert.equal((await requestToken({ clientId: pair.old, clientSecret: pair.secret })).status, 200)
    await using past = await pastOf((await testWorkspace()).stack)
    // The service does this each minute.
    await eventually(async () => {
      await past.revokeArmed()
      return (await rotationOf(pair)).armed === null
    })
    await page.getByText('In use now').waitFor()
    assert.equal(await page.getByText(/^Armed by/).count(), 0)
    await page.goto(`${tab.baseUrl}/ven_acme/activity?client=${pair.old}`)
    await page
      .getByText(/^The service disarmed the revocation of the client Used again, because it was used again/)
      .waitFor()
  })

  it('offers a replacement without the scopes that were not used for 30 days', async () => {
    const token = await sessionToken(OWNER)
    const old = await createClient(token, { name: 'Too wide', scopes: ['analytics:read', 'boost:write'] })
    await requestToken(old)
    await untilUsed(token, old.clientId)
    tab = await visit({ sessionToken: token, path: '/favicon.svg' })
    const { page } = tab
    await page.route(`**/oauth-clients/${old.clientId}`, async (route) => {
      const response = await route.fetch()
      await route.fulfill({
        response,
        json: { ...(await response.json()), createdAt: '2026-01-01T00:00:00.000Z' },
      })
    })
    await page.goto(`${tab.baseUrl}${CLIENTS}/${old.clientId}`)
    await page.getByText('One scope was not used in 30 days').waitFor()
    await assertAccessible(page)
    await page.getByRole('button', { name: 'Make a narrower replacement' }).click()
    await page.getByText('Left out, because no token had it in 30 days: boost:write.').waitFor()
    await page.getByRole('button', { name: 'Create replacement' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Scopes, fewer than before').waitFor()
    await dialog.getByRole('button', { name: 'Create replacement' }).click()
    const { clientId } = await revealed(page)
    const made = await api(`/v1/vendor/ven_acme/oauth-clients/${clientId}`, { token })
    assert.deepEqual([made.scopes, made.replaces], [['analytics:read'], old.clientId])
    await closeReveal(page, 'Continue the rotation')
  })

  it('lets a teammate see a rotation in the list and on both clients, and resume it', async () => {
    const old = await createClient(await sessionToken(OWNER), { name: 'Left alone' })
    tab = await visit({ as: OWNER, path: `${CLIENTS}/${old.clientId}/rotate` })
    await tab.page.getByRole('button', { name: 'Create replacement' }).click()
    await tab.page.getByRole('dialog').getByRole('button', { name: 'Create replacement' }).click()
    const replacement = await revealed(tab.page)
    await closeReveal(tab.page, 'Continue the rotation')
    await tab.page.getByText('No token request yet').waitFor()
    await tab.leave()

    tab = await visit({ as: ADMIN, path: CLIENTS })
    const { page } = tab
    await page.getByRole('link', { name: 'Taking over from Left alone' }).waitFor()
    await page.getByRole('link', { name: 'Being replaced by Left alone 2' }).click()
    await page.getByText('No token request yet').waitFor()
    assert.equal(await currentStep(page), 'Deploy it')
    assert.equal(await page.getByRole('button', { name: 'Create replacement' }).count(), 0)
    await requestToken(replacement)
    await page.getByText('Test requests only so far').waitFor()

    await page.getByRole('link', { name: 'Back to the client' }).click()
    await page.getByText('This client is being replaced').waitFor()
    await page.getByRole('link', { name: 'Left alone 2' }).click()
    await page.getByText('This client is taking over').waitFor()
    await page.getByRole('button', { name: 'Continue the rotation' }).click()
    await page.getByText('Test requests only so far').waitFor()
    assert.match(page.url(), new RegExp(`${old.clientId}/rotate$`))
  })

  it('starts a rotation again after its replacement was revoked', async () => {
    const token = await sessionToken(OWNER)
    const old = await createClient(token, { name: 'Begun twice' })
    const first = await createClient(token, { name: 'Begun twice 2', replaces: old.clientId })
    await api(`/v1/vendor/ven_acme/oauth-clients/${first.clientId}/revoke`, { token, method: 'POST' })
    tab = await visit({ sessionToken: token, path: `${CLIENTS}/${old.clientId}/rotate` })
    const { page } = tab
    await page.getByText('The last replacement was revoked').waitFor()
    await page.getByRole('button', { name: 'Create replacement' }).click()
    const dialog = page.getByRole('dialog')
    // Meanwhile a teammate does the same.
    await createClient(token, { name: 'Begun twice 3', replaces: old.clientId })
    await dialog.getByRole('button', { name: 'Create replacement' }).click()
    await dialog.getByText('This client can no longer be replaced').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('No token request yet').waitFor()
    await page.getByRole('link', { name: 'Begun twice 3' }).waitFor()
  })
})

const currentStep = (page: Page) => page.locator('[aria-current="step"] h2').innerText()
