import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Page, Route } from 'playwright-core'
import { hashSecret } from '#shared/oauth/ids.ts'
import type { AnsweredRequest } from '#shared/usage/client-usage.ts'
import type { NewClientRecord } from '../../apps/api/clients/records.ts'
import { saveIssuerKeys } from '../../apps/api/workload/issuers.ts'
import { afterwards } from '../support/block.ts'
import { createTestUsage } from '../support/client-usage.ts'
import { insertTestClient } from '../support/companies.ts'
import { assertLongTextsFit, lengthenAnswers } from '../support/long-texts.ts'
import type { Difference } from '../support/recorded.ts'
import { recordedStories, STORY_TIME, type StoryWorkspace } from '../support/story.ts'
import { assertLooksRight, CLIENTS, loseAnswer } from '../support/workspace.ts'

const day = (text: string) => new Date(`2025-${text}Z`)
const idOf = (name: string) => `cli_${name.replace(/\W/g, '')}`.padEnd(26, '0')
const pageOf = (name: string) => `${CLIENTS}/${idOf(name)}`

const secret = (of: string, secretHint = 'a1B2') => ({ secretHash: hashSecret(of), secretHint })
const JWK = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }
const GITHUB = { issuer: 'https://token.actions.githubusercontent.com', platform: 'github' } as const
const CLUSTER = 'https://cluster.acme.example'

const TOKEN = 'POST /v1/oauth/token'

type SeedRequest = Partial<AnsweredRequest> & { of: string; at: string; tokens?: number; scope?: string }

/** Clients of a company, and what they asked for, oldest first. */
interface Seeds {
  clients: (Partial<Omit<NewClientRecord, 'createdAt' | 'expiresAt'>> & {
    name: string
    createdAt: string
    expiresAt?: string
    revoked?: { at: string; by: string | null }
    found?: { at: string; source: string | null }
  })[]
  requests: SeedRequest[]
  /** Addresses, and what is pressed there. */
  long?: string[][]
  /** Of a job that begins. */
  attempts?: SeedRequest[]
}

const readSeeds = (file: string): Seeds => JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'))
const SEEDS = readSeeds('words-clients.json')

async function prepare(own: StoryWorkspace): Promise<void> {
  const company = { vendorId: 'ven_acme' }
  const keys = { keys: [{ ...JWK, kid: 'k1' }], keysAsOf: day('06-18T10:19') }
  const { db } = own.service
  await saveIssuerKeys(db, { ...company, ...GITHUB }, { ...keys, keysFrom: 'issuer' })
  await saveIssuerKeys(db, { ...company, issuer: CLUSTER }, { ...keys, keysFrom: 'pasted' })
  const failure = 'It answered with status 500.'
  await db('workload_issuers').where('issuer', GITHUB.issuer).update({ failure })
  await store(own, SEEDS, { ...company, createdBy: 'usr_olivia' })
}

/** Stores them as a service would have. */
async function store(
  { service }: StoryWorkspace,
  { clients, requests }: Seeds,
  { createdBy, ...company }: { vendorId: string; createdBy: string },
): Promise<void> {
  const { db } = service
  for (const { revoked, found, createdAt, expiresAt, ...given } of clients) {
    const clientId = idOf(given.name)
    const dates = { createdAt: new Date(createdAt), expiresAt: expiresAt ? new Date(expiresAt) : undefined }
    const stored = {
      ...company,
      clientId,
      createdBy,
      authenticatesBy: secret(given.name),
      ...dates,
      ...given,
    }
    await insertTestClient(db, stored)
    const row = () => db('oauth_clients').where('client_id', clientId)
    if (found) await row().update({ secret_found_at: found.at, secret_found_source: found.source })
    if (revoked) await row().update({ status: 'Revoked', revoked_at: revoked.at, revoked_by: revoked.by })
  }
  await record(service, company.vendorId, idOf, requests)
}

/** Counts and keeps requests as both services do, a batch for each time: a batch counts as one use. */
async function record(
  { apiDb, clock, redis }: StoryWorkspace['service'],
  vendorId: string,
  clientIdOf: (name: string) => string,
  requests: readonly SeedRequest[],
): Promise<void> {
  let now_ms = 0
  using connection = await redis.connect('auth')
  const usage = createTestUsage(connection, apiDb, { now: () => now_ms })
  for (const [id, { of, at, tokens = 0, scope = 'analytics:read', ...given }] of requests.entries()) {
    const { status, address = '192.0.2.1' } = given
    if (Date.parse(at) !== now_ms) await usage.flush()
    now_ms = Date.parse(at)
    const requestId = `00000000-0000-4000-8000-${String(id).padStart(12, '0')}`
    const clientId = clientIdOf(of)
    const request = { vendorId, clientId, proven: true, requestId, route: TOKEN, address, ...given }
    for (let n = 0; n < tokens; n += 1) usage.countToken(clientId, scope, address)
    if (status) usage.recordRequest({ ...request, status })
  }
  now_ms = clock.now()
  await usage.flush()
  await usage.stop()
}

const DIFFERENCES: Difference[] = [
  // A look has only the first 30 characters.
  [/(?<=<dl> Client idcli_)\w+|(?<=cli_)(?!\w*000\b)\w{21,22}/g, '…'],
  [/(?<=ias_)\w{20,49}|(?<=(?:ends|end) in (?:code: )?…?)\w{4}\b(?!.*a1B2)/g, '…'],
  [/(?<=code: )"?(?!kPrK)[\w-]{43}"?$|\beyJ[\w.-]+/gm, '…'],
  [/(?<=usr_)\w{22}|(?<=code: …)(?!a1B2)\w{4}$/gm, '…'],
]

const gone = (page: Page, text: string) => page.getByText(text).first().waitFor({ state: 'detached' })

const refuseClipboard = (page: Page) =>
  page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new Error('denied'))
  })

describe('workspace: the words of clients', () => {
  const file = new URL('words-clients.txt', import.meta.url)
  const { own, story } = recordedStories(file, { prepare, differences: DIFFERENCES })
  const addClient = (vendorId: string, name: string, more: Partial<NewClientRecord> = {}) =>
    insertTestClient(own.service.db, {
      vendorId,
      name,
      clientId: idOf(name),
      authenticatesBy: secret(name),
      createdAt: day('05-01T08:00'),
      ...more,
    })

  it(
    'the list',
    story({ role: 'owner', path: CLIENTS, width: 1600 }, async (it) => {
      const { page, step, details, look, press, open } = it
      await step('opens')
      await details('opens')
      await look('opens')
      await assertLooksRight(page)
      for (const column of ['Client', 'Last used', 'Added'])
        for (const order of ['first', 'again']) await step(`${column}, ${order}`, () => press(column))
      await details('sorted')
      const search = page.getByRole('searchbox')
      await step('search', () => search.fill('PRÏCE'))
      await step('nothing here', () => search.fill('trial'))
      await step('shown in all', () => press('Show 1 in all clients'))
      await step('nothing anywhere', () => search.fill('no such'))
      await step('search cleared', () => press('Clear the search'))
      await step('search by id', () => search.fill('cli_Legacysync2'))
      await step('search left', () => search.press('Escape'))
      await step('revoked', () => press('Revoked 3'))
      await step('one that asks', () => press(/still sends requests/))
      for (const show of ['expiring', 'unused', 'failing', 'asking', 'found'])
        await step(`view ${show}`, () => open(`${CLIENTS}?show=${show}`))
      await assertLooksRight(page)
      await step('of one person', () => open(`${CLIENTS}?createdBy=usr_anton&sort=-name`))
      await step('of everyone', () => press('Show clients of everyone'))
      await step('of no one', () => open(`${CLIENTS}?createdBy=usr_gone`))
      await step('of all who are in trouble', () => press(/clients expire within/))
      await open(`${CLIENTS}?createdBy=usr_gone`)
      await step('menu', () => press('Show clients of everyone', 'Actions for Price feed'))
      await step('menu of a replacement', () => press('Actions for Price feed 2'))
      await step('rotation from the menu', () => press('Rotate the secret'))
      await step('narrow', async () => {
        await page.setViewportSize({ width: 320, height: 700 })
        await open(CLIENTS)
      })
      await look('narrow')
      await page.setViewportSize({ width: 1600, height: 700 })
      await step('of an admin', () => open(CLIENTS, own.people.admin))
      await step('of a viewer', () => open(CLIENTS, own.people.viewer))
      await step('of a member', () => open(CLIENTS, own.people.member))
    }),
  )

  it(
    'the palette',
    story({ role: 'owner', path: `${CLIENTS}?show=all` }, async ({ page, step, details, press, open }) => {
      await page.getByRole('row').nth(1).waitFor()
      await step('opens', () => page.keyboard.press('Control+k'))
      const type = (text: string) => page.getByRole('combobox').fill(text)
      await step('clients', () => type('e'))
      const composed = { key: 'Enter', isComposing: true }
      await page.getByRole('combobox').dispatchEvent('keydown', composed)
      await details('clients')
      // The list has moved under a pointer that rests.
      await page.getByRole('option').nth(3).dispatchEvent('mousemove')
      await step('up', () => page.keyboard.press('ArrowUp'))
      const places = [page.getByRole('listbox'), page.getByRole('option', { selected: true })]
      const [list, last] = await Promise.all(places.map((place) => place.boundingBox()))
      assert.ok(list && last && last.y + last.height < list.y + list.height + 1, 'not in view')
      await step('down', () => page.keyboard.press('ArrowDown'))
      await step('down again', () => page.keyboard.press('ArrowDown'))
      await step('one client', () => type('legacy sync 2'))
      await step('a whole name', () => type('price feed'))
      for (const typed of [
        'analytics',
        'audit',
        '00000000-0000-4000-8000-000000000004',
        '0123456789abcdef0123456789abcdef',
        'request_id=req-1',
        'no such',
        'revoked',
      ])
        await step(typed, () => type(typed))
      await step('left', () => page.keyboard.press('Escape'))
      await step('to a client', async () => {
        await press(/^Search/)
        await type('trial')
        await press(/^Trial/)
      })
      await page.keyboard.press('Control+k')
      await type('analy')
      await step('to a screen', () => page.keyboard.press('Enter'))
      await open(CLIENTS, own.people.viewer)
      await page.getByRole('row').nth(1).waitFor()
      await step('of a viewer', () => page.keyboard.press('Control+k'))
      await page.route(/oauth-clients\?/, () => {})
      await page.reload()
      await press(/^Search/)
      await step('before there are clients', () => type('feed'))
    }),
  )

  it(
    'a client',
    story({ role: 'owner', path: pageOf('Warehouse reports') }, async (it) => {
      const { page, step, brief, part, details, look, press, fill, answer, pass } = it
      await step('opens')
      await details('opens')
      await look('opens')
      const requests = page.getByRole('region', { name: 'Requests', exact: true })
      await press(/^Granted/)
      await part('granted', requests)
      await press(/^Refused/)
      await part('refused', requests)
      await press(/^422/)
      await part('explained', requests)
      await press(/^401/)
      await part('closed', requests)
      await press(/^All/)
      await step('all', () => press(/^Show all/))
      await step('rename', () => press('Rename'))
      await details('rename')
      await step('no name', async () => {
        await fill('Name', ' ')
        await press('Save the name')
      })
      await step('a long name', async () => {
        await fill('Name', 'é'.repeat(101))
        await press('Save the name')
      })
      await step('typed on', () => fill('Name', 'Warehouse'))
      await answer('**/oauth-clients/*', 503, { code: 'temporarily_unavailable', title: 'Unavailable' })
      await step('not renamed for certain', () => press('Save the name'))
      await step('left', () => press('Cancel'))
      await step('rename again', () => press('Rename'))
      await page.mouse.click(9, 9, { button: 'right' })
      await fill('Name', 'Typed')
      await step('left by a press beside it', () => page.mouse.click(9, 9))
      await brief('copied', () => press('Copy client id'))
      await step('said no more', () => gone(page, 'Copied'))
      await refuseClipboard(page)
      await brief('not copied', () => press('Copy client id'))
      await step('9 hours later', async () => {
        await gone(page, 'Not copied')
        await pass(9 * 3_600_000)
        await page.getByText('9 hours ago').first().waitFor()
      })
      await step('narrow', () => page.setViewportSize({ width: 320, height: 700 }))
    }),
  )

  const OTHERS = SEEDS.clients.map(({ name }) => name).filter((name) => name !== 'Warehouse reports')
  it(
    'the other clients',
    story({ role: 'owner', path: CLIENTS }, async ({ page, step, details, look, press, open }) => {
      await page.getByRole('row').nth(1).waitFor()
      for (const name of OTHERS) {
        await step(name, () => open(pageOf(name)))
        // In its busiest hour, bars stand on each other.
        if (name === 'Deploy pipeline') await details(name)
        if (/^(?:Price feed 2|Nightly import|Legacy sync)$/.test(name)) await assertLooksRight(page)
      }
      await details('the last')
      await step('a found secret, on another screen', () => open('/ven_acme/integrations/webhooks'))
      await step('reviewed', () => press('Review'))
      await look('reviewed')
      await assertLooksRight(page)
      await open(pageOf('Nightly import'))
      await step('what to change', () => press('What to change'))
      await look('what to change')
      await step('no such client', () => open(pageOf('Nothing')))
      for (const name of ['Price feed', 'Legacy sync', 'Trial', 'Old gateway', 'Cluster job', 'Nothing'])
        await step(`rotation of ${name}`, () => open(`${pageOf(name)}/rotate`))
      for (const name of ['Old gateway', 'Price feed']) {
        await open(`${pageOf(name)}/rotate`)
        await look(`rotation of ${name}`)
        await assertLooksRight(page)
      }
      await page.reload()
      await open(pageOf('Leaked export'), own.people.viewer)
      await step('a found secret, of a viewer')
      for (const name of ['Price feed', 'Cluster job', 'Nightly import'])
        await step(`${name}, of a viewer`, () => open(pageOf(name)))
      await step('what to change, of a viewer', () => press('What to change'))
      await step('rotation of Price feed, of a viewer', () => open(`${pageOf('Price feed')}/rotate`))
      await open(pageOf('Price feed'), own.people.admin)
      await step('rotation of Price feed, of an admin', () => press('Continue the rotation'))
    }),
  )

  it(
    'texts as long as they can be',
    story({ role: 'owner', path: '/favicon.svg' }, async (it) => {
      await lengthenAnswers(it.page)
      await it.page.goto(own.baseUrl + CLIENTS)
      await assertLongTextsFit(it, SEEDS.long ?? [])
    }),
  )

  it(
    'what cannot be read',
    story({ role: 'owner', path: pageOf('Price feed') }, async ({ page, step, open, pass }) => {
      await page.getByRole('heading', { name: 'Requests' }).waitFor()
      const refuse = (url: string, status: number) =>
        page.route(url, (route) =>
          route.fulfill({
            status,
            headers: { 'retry-after': '150', 'x-request-id': 'id-of-the-refusal' },
            json: { code: 'rate_limited', detail: 'No.' },
          }),
        )
      await page.route(/\/(?:usage|requests)$/, () => {})
      await step('not read yet', () => open(pageOf('Leaked export'), own.people.owner))
      await step('nor those of a revoked client', () => open(pageOf('Legacy sync')))
      for (const url of ['**/usage', '**/requests', '**/rotation', '**/workload-issuers'])
        await refuse(url, 429)
      await step('usage and requests', () => open(pageOf('Leaked export'), own.people.owner))
      await step('requests of a revoked client', () => open(pageOf('Legacy sync')))
      await step('rotation', () => open(`${pageOf('Price feed')}/rotate`))
      await refuse('**/oauth-clients?**', 403)
      await step('the list', () => open(CLIENTS, own.people.owner))
      await page.unrouteAll()
      await step('the list, again', () => page.getByRole('button', { name: 'Try again' }).click())
      const granted = { status: 200, code: null, reason: null, advice: null }
      for (const [kept, answer] of [
        [200, {}],
        [20, granted],
        [21, granted],
      ] as const) {
        await page.route('**/requests', async (route) => {
          const response = await route.fetch()
          const [request] = (await response.json()).requests
          const requests = Array.from({ length: kept }, (_, id) => ({
            ...request,
            ...answer,
            requestId: `${id}`,
          }))
          await route.fulfill({ response, json: { requests, since: request.at, skipped: 3 } })
        })
        await open(pageOf('Legacy sync'), own.people.owner)
        await step(`${kept} requests`)
      }
      const width = (await page.getByRole('button', { name: 'Show all' }).boundingBox())?.width
      assert.ok((width ?? 999) < 200, `${width} wide`)
      await page.unrouteAll()
      await open(CLIENTS, own.people.owner)
      const paths = [pageOf('Leaked export'), pageOf('Legacy sync'), `${pageOf('Price feed')}/rotate`]
      for (const path of paths) await step(`${path}, read`, () => open(path))
      for (const url of ['**/usage', '**/requests']) await refuse(url, 429)
      await pass(60_000)
      for (const path of paths) await step(`${path}, no longer read`, () => open(path))
      await page.context().setOffline(true)
      await step('offline', () => open(pageOf('Legacy sync')))
      await page.context().setOffline(false)
      await open(pageOf('Leaked export'))
      await page.getByText('This may be out of date').nth(1).waitFor()
      const again = () => page.getByRole('button', { name: 'Try again' }).last().click()
      const { promise, resolve } = Promise.withResolvers<void>()
      await page.route('**/requests', (route) => promise.then(() => route.fulfill({ status: 429, json: {} })))
      await step('trying again', again)
      await step('tried again', resolve)
      await page.unrouteAll()
      await step('read once more', again)
    }),
  )

  it(
    'failures unknown',
    story({ role: 'owner', path: CLIENTS }, async ({ page, step, open }) => {
      await page.route('**/oauth-clients?status=*', async (route) => {
        const response = await route.fetch()
        const { clients, nextCursor } = await response.json()
        const unknown = { failing: null, failingKnown: false, usesMissingBefore: day('06-18T10:00') }
        await route.fulfill({
          response,
          json: { nextCursor, clients: clients.map((client: object) => ({ ...client, ...unknown })) },
        })
      })
      await page.reload()
      await step('the list')
      await page.route('**/oauth-clients/cli_*', () => {})
      await step('a client', () => open(pageOf('Leaked export')))
      await step('its replacement', () => open(`${pageOf('Warehouse reports')}/rotate`))
    }),
  )

  it(
    'creating',
    story({ company: 'ven_creating', path: '/ven_creating' }, async (it) => {
      const { page, step, brief, control, details, look, press, fill, answer, pass } = it
      const dialog = page.getByRole('dialog')
      const submit = () => dialog.getByRole('button', { name: 'Create client' }).click()
      await step('nothing yet')
      await look('nothing yet')
      await step('begins', () => press('Create client'))
      await details('begins')
      await step('mistakes', submit)
      await look('mistakes')
      await page.setViewportSize({ width: 320, height: 700 })
      await look('mistakes, narrow')
      await page.setViewportSize({ width: 1280, height: 900 })
      await step('a long name', async () => {
        await fill('Name', 'n'.repeat(101))
        await submit()
      })
      await step('corrected', () => fill('Name', 'Shop'))
      await step('scopes', () => press(/^Report analytics events/, /^Read daily analytics/, /^Change boosts/))
      await press(/^Change boosts/)
      const expires = page.getByLabel('Expires')
      for (const label of ['In 90 days', 'In a year', 'On a day that you choose'])
        await step(label, () => expires.selectOption(label))
      await step('no day', submit)
      await step('a day that is over', async () => {
        await fill('Last day', '2025-06-17')
        await submit()
      })
      await step('never', () => expires.selectOption('Never'))
      const problems: [status: number, body: object, headers?: Record<string, string>][] = [
        [409, { code: 'client_limit_reached', detail: 'At most 100.' }],
        [429, { code: 'rate_limited' }, { 'retry-after': '90' }],
        [503, { code: 'temporarily_unavailable', detail: 'Not now.' }],
        [422, { code: 'invalid_input', errors: [{ pointer: '/scopes/0', detail: 'must be nothing' }] }],
      ]
      for (const [status, body, headers] of problems) {
        await answer('**/oauth-clients', status, body, headers)
        await step(`refused by ${status}`, submit)
      }
      await answer('**/oauth-clients', 409, { code: 'idempotency_in_progress', detail: 'Wait.' })
      await step('under way', submit)
      await page.context().setOffline(true)
      await step('offline', submit)
      await page.context().setOffline(false)
      await step('its secret', submit)
      await details('its secret')
      await look('its secret')
      await step('not closed by a press beside it', () => page.mouse.click(9, 9))
      await step('nor by Escape', () => page.keyboard.press('Escape'))
      await step('nor by its button', () => press('Close'))
      await step('ready for programs', () => press('.env'))
      await brief('copied', () => press('Copy client secret'))
      await step('said no more', () => gone(page, 'Copied'))
      await step('saved', () => press('I have saved the secret'))
      await step('not saved', () => press('I have saved the secret'))
      await step('not done', () => control('Done').click({ force: true }))
      await step('done', () => press('I have saved the secret', 'Done'))
      await pass(60_000)
      await loseAnswer(page, '**/oauth-clients')
      await step('no answer', async () => {
        await press('Create client')
        await fill('Name', 'Lost')
        await press(/^Read boosts/)
        await submit()
      })
      await answer('**/oauth-clients', ...(problems[3] as (typeof problems)[0]))
      await step('another, refused after it', async () => {
        await fill('Name', 'Lost?')
        await submit()
      })
      await fill('Name', 'Lost')
      await step('its secret is lost', submit)
      await pass(60_000)
      await page.keyboard.press('Escape')
      await press('Create client')
      await fill('Name', 'Sign')
      await press(/^Read boosts/, /^Key pair, created/)
      await answer('**/oauth-clients', 503)
      await submit()
      await fill('Name', 'Signs')
      await step('its key', submit)
      await details('its key')
      await refuseClipboard(page)
      await brief('its key, not copied', async () => {
        await press('Copy private key')
        await look('its key, not copied', control('Copy private key').locator('..'))
      })
      await step('its key, not done', () => control('Done').click({ force: true }))
      await pass(60_000)
      await press('I have saved the private key', 'Done', 'Create client')
      await fill('Name', 'Signs already')
      await step('own key', () => press(/^Read boosts/, /^Key pair of your own/))
      await step('no key', submit)
      await assertLooksRight(page)
      await step('a private key', () => fill('Public key', '-----BEGIN PRIVATE KEY-----'))
      await step('not a key', async () => {
        await fill('Public key', 'ssh-ed25519 AAAA')
        await submit()
      })
      await fill('Public key', JSON.stringify(JWK))
      await expires.selectOption('On a day that you choose')
      await fill('Last day', '2025-07-10')
      await step('its own key', submit)
      await step('all four', () => press('Done'))
      await step('its page', () => press('Signs already'))
      await step('a replacement', () => press('Rotate the key', 'Create replacement'))
      await press(/^Secret/)
      await step('a secret in place of a key', () => press('Create replacement'))
      await step('in rotation', () => press('I have saved the secret', 'Done'))
      await step('a key in place of a secret', async () => {
        await press('OAuth2 Clients', 'Shop', 'Rotate the secret', 'Create replacement', /^Key pair, created/)
        await press('Create replacement')
      })
      await step('in rotation, too', () => press('I have saved the private key', 'Done'))
    }),
  )

  it(
    'trusting a platform',
    story({ company: 'ven_trusting', path: '/ven_trusting/integrations/oauth2-clients?new' }, async (it) => {
      const { page, step, part, details, look, press, fill } = it
      const submit = () => page.getByRole('dialog').getByRole('button', { name: 'Create client' }).click()
      const keys = [{ ...JWK, kid: 'k1' }]
      await addClient('ven_trusting', 'Earlier', {
        authenticatesBy: { workload: { ...GITHUB, claims: { a: 'b' } } },
      })
      const now = { keysFrom: 'pasted', keys, keysAsOf: day('06-18T10:19') } as const
      await saveIssuerKeys(own.service.db, { vendorId: 'ven_trusting', issuer: GITHUB.issuer }, now)
      await fill('Name', 'Deploys')
      await press(/^Read boosts/, /^No secret/)
      const platform = page.getByLabel('Platform', { exact: true })
      for (const name of (await platform.innerText()).split('\n')) {
        await platform.selectOption(name)
        await part(name, platform.locator('xpath=../..'))
      }
      await platform.selectOption('GitHub Actions')
      await step('mistakes', submit)
      await details('mistakes')
      await look('mistakes')
      await fill('Repository id', '1296269')
      await step('too few claims', submit)
      await platform.selectOption('GitHub Enterprise')
      await fill('Issuer', 'https://gitlab.com')
      await fill('Repository id', '22')
      await fill('Branch', 'main')
      await step('issuer of another platform', submit)
      await platform.selectOption('GitHub Actions')
      await fill('Repository id', '1296269')
      await page.getByText('Compare a token').click()
      const fields = platform.locator('xpath=../..')
      const compare = async (payload: object) => {
        const parts = [{ alg: 'RS256' }, payload].map((json) =>
          Buffer.from(JSON.stringify(json)).toString('base64url'),
        )
        await fill('A token of the platform', `${parts.join('.')}.x`)
      }
      await fill('A token of the platform', 'no token')
      await part('no token', fields)
      await compare({
        iss: GITHUB.issuer,
        repository_id: 1296269,
        aud: ['other'],
        exp: 1_750_000_000,
        iat: 1,
      })
      await part('differs', fields)
      const iat = own.service.clock.now() / 1_000
      const ref = 'refs/heads/main'
      await compare({
        iss: GITHUB.issuer,
        repository_id: '1296269',
        ref,
        aud: [own.baseUrl],
        exp: iat + 3_600,
        iat,
      })
      await part('matches', fields)
      await step('ready', submit)
      const clientId = await page.getByRole('dialog').getByRole('code').first().innerText()
      await record(own.service, 'ven_trusting', () => clientId, SEEDS.attempts ?? [])
      await step('tried', () => page.getByText('Token issued at').waitFor())
      await step('done', () => press('Done'))
      await press('Create client')
      await fill('Name', 'Cluster')
      await press(/^Read boosts/, /^No secret/)
      await platform.selectOption('GitHub Enterprise')
      await fill('Public keys', 'of another')
      await platform.selectOption('Kubernetes')
      await step('keys of another platform')
      await fill('Service account', 'prod:report')
      await fill('Public keys', '"d": 1')
      await part('a private key', fields)
      await fill('Issuer', 'http://cluster.example')
      await fill('Public keys', '{"keys":[]}')
      await step('refused', submit)
      await details('refused')
      await fill('Issuer', CLUSTER)
      await fill('Public keys', JSON.stringify({ keys }))
      await part('corrections', fields)
      await step('corrected', submit)
      await press('Done', 'Cluster')
      await step('replace keys', () => press('Replace the keys'))
      await details('replace keys')
      await step('no keys', () => press('Replace the keys'))
      await step('a private key again', () => fill('Public keys', '"d": 1'))
      await step('replaced', async () => {
        await fill('Public keys', JSON.stringify({ keys: [{ ...JWK, kid: 'k2' }] }))
        await press('Replace the keys')
      })
      await step('a replacement', () => press('Replace the client', 'Create replacement'))
      const unread = { code: 'invalid_input', errors: [{ pointer: '/workload/issuer', detail: 'is silent' }] }
      await it.answer('**/oauth-clients', 422, unread)
      await step('not replaced', () => press('Create replacement'))
      await press('Create replacement', 'Done')
      await step('of the same workload', () => press('Cluster 2'))
    }),
  )

  it(
    'replacing and revoking',
    story({ company: 'ven_revoking', path: '/ven_revoking' }, async (it) => {
      const { page, step, details, look, press, fill, answer, open, pass, compare } = it
      const list = '/ven_revoking/integrations/oauth2-clients'
      const newestDeed = () => page.getByRole('listitem').getByRole('paragraph').first().innerText()
      await addClient('ven_revoking', 'Feed 9', { scopes: ['boost:read', 'catalog:write', 'analytics:read'] })
      await addClient('ven_revoking', 'Dated', { expiresAt: day('06-25T21:59:59') })
      await page.reload()
      await open(`${list}/${idOf('Feed 9')}`)
      await step('rotates', () => press('Rotate the secret'))
      await step('the replacement', () => press('Create replacement'))
      await details('the replacement')
      await step('without scopes', () => press(/^Change the catalog/, /^Read boosts/))
      const conflict = { code: 'invalid_input', errors: [{ pointer: '/replaces', detail: 'is replaced' }] }
      await answer('**/oauth-clients', 422, conflict)
      await step('just replaced', () => press('Create replacement'))
      await step('its secret', () => press('Create replacement'))
      await step('in rotation', () => press('I have saved the secret', 'Done'))
      await step('revokes', () => press(/^Revoke Feed 9/))
      await details('revokes')
      await look('revokes')
      await step('another name', async () => {
        await fill('Type the client’s name to confirm', 'Feed')
        await press('Revoke permanently')
      })
      await fill('Type the client’s name to confirm', idOf('Feed 9'))
      const revoke = '**/revoke'
      await answer(revoke, 429, { code: 'rate_limited' }, { 'retry-after': '30' })
      await step('too often', () => press('Revoke permanently'))
      await answer(revoke, 404, { code: 'not_found', detail: 'No such client.' })
      await step('not found', () => press('Revoke permanently'))
      await answer(revoke, 503, { code: 'temporarily_unavailable', detail: 'Not now.' })
      await step('not certain', () => press('Revoke permanently'))
      const hold = async (url: string) => {
        const { promise, resolve } = Promise.withResolvers<void>()
        await page.route(url, async (route) => {
          if (route.request().method() !== 'GET') await promise
          await route.continue()
        })
        return resolve
      }
      const revoked = await hold(revoke)
      await step('under way', () => press('Revoke permanently'))
      await details('under way')
      await step('kept open', () => page.keyboard.press('Escape'))
      await step('revoked', revoked)
      await page.setViewportSize({ width: 320, height: 700 })
      // A phone without a home button.
      const devtools = await page.context().newCDPSession(page)
      await devtools.send('Emulation.setSafeAreaInsetsOverride', { insets: { bottom: 34 } })
      const toast = await page.locator('[data-toasts] li').boundingBox()
      const bar = await page.getByRole('navigation').boundingBox()
      assert.ok(toast && bar && toast.y + toast.height <= bar.y, 'the toast covers the navigation')
      await page.setViewportSize({ width: 1280, height: 900 })
      await step('toast dismissed', () => press('Dismiss'))
      await step('the revoked client', () => open(`${list}/${idOf('Feed 9')}`))
      // Another client is read before the list, which still has to be.
      const dated = page.waitForResponse(`**/${idOf('Dated')}`)
      await open(`${list}/${idOf('Dated')}`)
      await dated
      await step('from the list', async () => {
        await open(list)
        await press('Actions for Dated', 'Revoke')
      })
      await step('kept', () => press('Keep it'))
      await press('Actions for Dated', 'Revoke')
      await step('no longer listed', () => open(`${list}?q=another`))
      await press('Keep it')
      await step('a replacement that expires', async () => {
        await open(`${list}/${idOf('Dated')}/rotate`)
        await press('Create replacement')
      })
      await page.keyboard.press('Escape')
      await press('Activity')
      await compare('newest deed', newestDeed)
      await open(`${list}/${idOf('Dated')}`)
      await press('Rename')
      await fill('Name', 'Outdated, <b>bold</b>')
      const renamed = await hold('**/oauth-clients/cli_*')
      // The list shows the new name without being read again.
      await page.route(/oauth-clients\?/, () => {})
      await step('renaming', () => press('Save the name'))
      await step('not left', () => page.keyboard.press('Escape'))
      await step('renamed', renamed)
      await press('Activity')
      await compare('newest deed then', newestDeed)
      await step('renamed in the list', () => open(`${list}?show=all&sort=name`))
      await step('revokes from the list', async () => {
        await press('Actions for Feed 10', 'Revoke')
        const old = await own.service.db('oauth_clients').where('name', 'Feed 10').first()
        await addClient('ven_revoking', 'Feed 11', { replaces: old.client_id })
      })
      await step('replaced meanwhile', () => pass(10_000))
      await step('revoked in the list', async () => {
        await fill('Type the client’s name to confirm', 'Feed 10')
        await press('Revoke permanently')
      })
      await details('revoked from the list')
      await step('requests since', () => press('See requests since'))
    }),
  )

  it(
    'several found secrets',
    story({ company: 'ven_found', path: '/ven_found' }, async ({ page, step, press, fill, open }) => {
      for (const name of ['One', 'Two', 'Three', 'Four', 'Five']) {
        const { clientId } = await addClient('ven_found', name)
        const found = { secret_found_at: day('06-18T09:00') }
        await own.service.db('oauth_clients').where('client_id', clientId).update(found)
      }
      await page.reload()
      await step('all')
      const few = (route: Route) =>
        route.continue({ url: route.request().url().replace('limit=50', 'limit=4') })
      await page.route(/secretFound/, few)
      await page.reload()
      await step('more than are read')
      await page.unroute(/secretFound/)
      await page.reload()
      await step('reviewed', () => press('Review'))
      await step('on one of them', () => open(`/ven_found/integrations/oauth2-clients/${idOf('Two')}`))
      // The lists show it without being read again.
      await page.route(/oauth-clients\?/, () => {})
      await step('that is revoked', async () => {
        await press('Revoke')
        await fill('Type the client’s name to confirm', 'Two')
        await press('Revoke permanently')
      })
      await step('all others', () => open('/ven_found/integrations/webhooks'))
    }),
  )

  /** Clients with one token from each of many addresses. */
  const fromMany = (of: string, addresses: number, at: (index: number) => number): Seeds['requests'] =>
    Array.from({ length: addresses }, (_, index) => {
      const minutesAgo = new Date(Date.parse(STORY_TIME) - at(index) * 60_000)
      return { of, at: minutesAgo.toISOString(), address: `192.0.2.${index}`, tokens: 1 }
    })

  it(
    'every sentence about a client',
    story({ company: 'ven_histories', path: '/ven_histories' }, async (it) => {
      const { page, step, details, press, open } = it
      const list = '/ven_histories/integrations/oauth2-clients'
      const addressOf = (name: string) => `${list}/${idOf(name)}`
      const company = { vendorId: 'ven_histories', userId: 'usr_hana' }
      await own.service.createPerson({ ...company, name: 'Hana Vogt', role: 'admin' })
      const { clients, requests } = readSeeds('words-histories.json')
      requests.push(...fromMany('Leaked to many', 25, (index) => 34 - index))
      requests.push(...fromMany('Leaked on a full day', 200, () => 3 * 24 * 60))
      await store(own, { clients, requests }, { ...company, createdBy: 'usr_hana' })
      // As the service forgets them.
      const forgotten = own.service.db('client_address_usage').where('client_id', idOf('Leaked and old'))
      await forgotten.where('day', '<', day('03-09T00:00')).delete()
      await step('the list', () => page.goto(`${own.baseUrl}${list}?show=all`))
      /** Each beside the one before, so that only what differs is recorded. */
      const read = async (names: string[], when = '') => {
        for (const name of names) await step(name + when, () => open(addressOf(name)))
        for (const name of names)
          await step(`rotation of ${name}${when}`, () => open(`${addressOf(name)}/rotate`))
      }
      await read(clients.map(({ name }) => name))
      await open(`${addressOf('Moved')}/rotate`)
      await page.getByRole('img', { name: /4 tokens issued/ }).waitFor()
      await details('use of both clients')
      await open(`${addressOf('Outdated')}/rotate`)
      await step('a replacement of an expired client', () => press('Create replacement'))
      await open(addressOf('Again'))
      await step('a Revoked replacement', () => press('Revoke'))
      await open(addressOf('Passed'))
      await step('an expired replacement', () => press('Revoke'))
      const writer = '00000000-0000-4000-8000-000000000000'
      const [flushed_at, missed_at, lost_at] = ['09:50', '09:51', '10:15'].map((at) => day(`06-18T${at}`))
      const lost = { writer, batch: 1, flushed_at, missed_at, lost_at }
      await own.service.db('usage_writers').insert(lost)
      await using _ = afterwards(() => own.service.db('usage_writers').where({ writer }).delete())
      await page.reload()
      await page.getByRole('heading', { name: 'Passed', level: 1 }).waitFor()
      await read(['Fresh', 'Daily', 'Pair', 'Leaked and safe', 'Guessed'], ', while uses may be missing')
    }),
  )
})
