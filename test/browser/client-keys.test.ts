import { strict as assert } from 'node:assert'
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
} from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { calculateJwkThumbprint, type JWK, SignJWT } from 'jose'
import type { Page, Request } from 'playwright-core'
import { fillClient, submitClient } from '../support/reveal.ts'
import {
  api,
  assertAccessible,
  assertFits,
  createClient,
  leaveVisits,
  OWNER,
  sessionToken,
  untilReported,
  visit,
} from '../support/workspace.ts'

const CLIENTS = '/ven_acme/integrations/oauth2-clients'
const MADE_HERE = /created in this browser/
const OWN = /of your own/
const DAY_MS = 86_400_000

const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const publicPem = own.publicKey.export({ type: 'spki', format: 'pem' }).toString()
const computeThumbprint = (key: KeyObject) =>
  calculateJwkThumbprint(createPublicKey(key).export({ format: 'jwk' }) as JWK)

describe('workspace: clients that have a key, or expire', () => {
  let token: string
  before(async () => {
    token = await sessionToken(OWNER)
  })
  afterEach(leaveVisits)

  it('makes a key pair whose private key reaches a file and no request, storage or cookie', async () => {
    const { page, context, baseUrl } = await visit({ sessionToken: token, path: CLIENTS })
    const requests: Request[] = []
    page.on('request', (request) => requests.push(request))
    const dialog = await fillClient(page, 'Made here', 'Read boosts')
    await dialog.getByRole('radio', { name: MADE_HERE }).check()
    await submitClient(page)
    await dialog.getByText('Waiting for the first token request').waitFor()

    const [file] = await Promise.all([
      page.waitForEvent('download'),
      dialog.getByRole('button', { name: 'Download' }).click(),
    ])
    assert.match(file.suggestedFilename(), /^cli_\w{22}\.pem$/)
    const clientId = file.suggestedFilename().replace('.pem', '')
    const pem = await readFile(await file.path(), 'utf8')
    await dialog.getByRole('button', { name: 'Copy private key' }).click()
    await dialog
      .getByRole('button', { name: 'Copied private key' })
      .getByText('Copied', { exact: true })
      .waitFor()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), pem)
    const client = await api(`/v1/vendor/ven_acme/oauth-clients/${clientId}`, { token })
    assert.equal(client.keyThumbprint, await computeThumbprint(createPrivateKey(pem)))
    await dialog.getByText(client.keyThumbprint, { exact: true }).waitFor()
    assert.equal((await page.content()).includes('PRIVATE KEY'), false)

    await page.keyboard.press('Escape')
    await dialog.getByText('once this is closed, the private key is gone').waitFor()
    assert.equal((await requestTokenByKey(baseUrl, clientId, createPrivateKey(pem))).status, 200)
    await dialog.getByText(/Token issued at .*: the id and key work/).waitFor()
    assert.equal(await asksBeforeLeaving(page), true)
    await dialog.getByRole('checkbox', { name: 'I have saved the private key' }).check()
    assert.equal(await asksBeforeLeaving(page), false)
    await dialog.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('row', { name: /Made here/ }).waitFor()

    assert.ok(
      requests.some((request) => request.method() === 'POST' && request.postData()?.includes('"kty":"EC"')),
    )
    const storage = await context.storageState({ indexedDB: true })
    const cached = await page.evaluate(async () => [
      await caches.keys(),
      { ...sessionStorage },
      history.state,
    ])
    const left = [
      ...requests.map((request) => [request.url(), request.postData(), request.headers()]),
      storage,
      cached,
    ]
    for (const form of encodeForms(pem)) assert.equal(JSON.stringify(left).includes(form), false, form)
  })

  it('offers the private key when only the second try to create its client was answered', async () => {
    const { page } = await visit({ sessionToken: token, path: CLIENTS })
    const dialog = await fillClient(page, 'Answered late', 'Read boosts')
    await dialog.getByRole('radio', { name: MADE_HERE }).check()
    await dialog.getByLabel('Expires').selectOption('In 90 days')
    await page.route(
      '**/oauth-clients',
      async (route) => {
        await route.fetch()
        await route.abort('connectionreset')
      },
      { times: 1 },
    )
    await submitClient(page)
    await dialog.getByText('it is never created twice').waitFor()
    await submitClient(page)
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      dialog.getByRole('button', { name: 'Download' }).click(),
    ])
    const { clients } = await api('/v1/vendor/ven_acme/oauth-clients?status=Active&limit=200', { token })
    const made = clients.filter(({ name }: { name: string }) => name === 'Answered late')
    assert.equal(made.length, 1)
    const pem = await readFile(await file.path(), 'utf8')
    assert.equal(made[0].keyThumbprint, await computeThumbprint(createPrivateKey(pem)))
    await dialog.getByRole('checkbox', { name: 'I have saved the private key' }).check()
    await dialog.getByRole('button', { name: 'Done' }).click()
  })

  it('refuses a private key before it is sent, and a weak one at its field, and creates a client for a good one', async () => {
    const { page } = await visit({ sessionToken: token, path: CLIENTS, width: 1440 })
    const sent: string[] = []
    page.on('request', (request) => sent.push(request.postData() ?? ''))
    const dialog = await fillClient(page, 'Pasted', 'Read boosts')
    await dialog.getByRole('radio', { name: OWN }).check()
    const field = dialog.getByRole('textbox', { name: 'Public key' })
    const pem = own.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const jwk = JSON.stringify(own.privateKey.export({ format: 'jwk' }))
    for (const text of [pem, jwk]) {
      await field.fill(publicPem)
      assert.equal(await field.inputValue(), publicPem)
      await field.fill(text)
      await dialog.getByText('This is a private key. Paste the public one.').waitFor()
      assert.equal(await field.inputValue(), '')
    }
    await submitClient(page)
    await dialog.getByText('Paste the public key.', { exact: true }).waitFor()
    await page.waitForFunction(() => document.activeElement?.tagName === 'TEXTAREA')
    await untilReported(page)
    for (const form of encodeForms(pem)) assert.ok(sent.every((body) => !body.includes(form)))
    assert.equal(sent.filter((body) => body.includes('Pasted')).length, 0)

    const weak = generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 3 }).publicKey
    await field.fill(weak.export({ type: 'spki', format: 'pem' }).toString())
    await submitClient(page)
    await dialog.getByText(/^The key must have the exponent 65,537/).waitFor()
    await dialog.getByText('Correct the marked fields.').waitFor()
    assert.equal(await field.getAttribute('aria-invalid'), 'true')
    await field.fill('ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI me@here')
    assert.equal(await field.getAttribute('aria-invalid'), null)
    await submitClient(page)
    await dialog.getByText('The key must be one public key: as a JWK, or in PEM').waitFor()

    const good = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const thumbprint = await computeThumbprint(good.privateKey)
    await field.fill(JSON.stringify({ ...good.publicKey.export({ format: 'jwk' }), use: 'enc' }))
    await submitClient(page)
    await dialog.getByText('with the private key that belongs to your public key').waitFor()
    await dialog.getByText(thumbprint, { exact: true }).waitFor()
    assert.match(await dialog.getByRole('region', { name: 'curl command' }).innerText(), /"alg":"RS256"/)
    assert.equal(await dialog.getByRole('checkbox').count(), 0)
    // There is nothing to save, so nothing keeps the dialog open.
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Pasted' }).click()
    await page.getByText(thumbprint, { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Copy key thumbprint' }).waitFor()
    await page.getByRole('button', { name: 'Rotate the key' }).waitFor()
  })

  it('chooses how a client authenticates by keyboard alone', async () => {
    const { page } = await visit({ sessionToken: token, path: CLIENTS })
    const dialog = await fillClient(page, 'By arrow keys', 'Read boosts')
    const secret = dialog.getByRole('radio', { name: /^Secret/ })
    assert.equal(await secret.isChecked(), true)
    await secret.focus()
    await page.keyboard.press('ArrowDown')
    assert.equal(await dialog.getByRole('radio', { name: MADE_HERE }).isChecked(), true)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Tab')
    await page.keyboard.insertText(publicPem)
    await page.keyboard.press('Tab')
    await page.keyboard.type('In 90')
    assert.equal(await dialog.getByLabel('Last day').inputValue(), dayIn(90))
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await dialog.getByText('By arrow keys is ready').waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
  })

  it('replaces a secret by a key, and says so on every page', async () => {
    const old = await createClient(token, { name: 'Outgrown', expiresAt: inDays(90) })
    const { page } = await visit({ sessionToken: token, path: `${CLIENTS}/${old.clientId}/rotate` })
    await page.getByRole('heading', { name: 'Rotate the secret', level: 1 }).waitFor()
    await page.getByRole('button', { name: 'Create replacement' }).click()
    const dialog = findDialog(page)
    assert.equal(await dialog.getByLabel('Expires').inputValue(), dayIn(90))
    await dialog.getByRole('radio', { name: MADE_HERE }).check()
    await dialog.getByRole('button', { name: 'Create replacement' }).click()
    await dialog.getByRole('checkbox', { name: 'I have saved the private key' }).check()
    await dialog.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('link', { name: 'Outgrown 2' }).first().click()
    await page.getByText('Key thumbprint').waitFor()
    assert.equal((await page.locator('main').innerText()).includes('secret'), false)
    await page.goto(`${page.url()}/rotate`)
    await page.getByRole('heading', { name: 'Rotate the key', level: 1 }).waitFor()
    await page.getByRole('button', { name: 'Create replacement' }).click()
    assert.equal(await dialog.getByRole('radio', { name: MADE_HERE }).isChecked(), true)
    assert.equal(await dialog.getByLabel('Expires').inputValue(), dayIn(90))
    await dialog.getByRole('button', { name: 'Cancel' }).click()
  })

  it('creates a client that never expires unless a day is chosen', async () => {
    const { page } = await visit({ sessionToken: token, path: CLIENTS })
    const dialog = await fillClient(page, 'Ends on a day', 'Read boosts')
    assert.equal(await dialog.getByLabel('Expires').inputValue(), 'never')
    await dialog.getByLabel('Expires').selectOption('On a day that you choose')
    await submitClient(page)
    await dialog.getByText('Choose the day.').waitFor()
    await dialog.getByLabel('Last day').fill('2020-01-31')
    await submitClient(page)
    await dialog.getByText('The day must be a day to two years ahead').waitFor()
    const day = dayIn(40)
    await dialog.getByLabel('Last day').fill(day)
    await submitClient(page)
    await dialog.getByRole('checkbox', { name: 'I have saved the secret' }).check()
    await dialog.getByRole('button', { name: 'Done' }).click()
    const { clients } = await api('/v1/vendor/ven_acme/oauth-clients?status=Active&limit=200', { token })
    const { expiresAt } = clients.find(({ name }: { name: string }) => name === 'Ends on a day')
    assert.equal(formatDate(Date.parse(expiresAt)), day)
    assert.equal(formatDate(Date.parse(expiresAt) + 1_000) > day, true)
  })

  it('marks clients that expire soon or have expired, and says what to do', async () => {
    // No id has a hyphen in its random part, so none can match by chance.
    const soon = await createClient(token, { name: 'Tick-soon', expiresAt: inDays(12) })
    const expired = await createClient(token, { name: 'Tick-expired', expiresAt: inDays(3) })
    await createClient(token, { name: 'Tick-later', expiresAt: inDays(300) })
    await createClient(token, { name: 'Tick-never' })
    await createClient(token, { name: 'Another that never expires' })
    const { page, baseUrl } = await visit({ sessionToken: token, path: '/favicon.svg', width: 1680 })
    const others: { expiresAt: string | null } = { expiresAt: inDays(300) }
    await answerExpiries(page, expired.clientId, others)
    await page.goto(`${baseUrl}${CLIENTS}?q=tick-`)
    await page
      .getByRole('row', { name: /Tick-soon/ })
      .getByText('in 12 days')
      .waitFor()
    await page
      .getByRole('row', { name: /Tick-expired/ })
      .getByText('Expired', { exact: true })
      .waitFor()
    const names = () => page.locator('tbody th bdi').allInnerTexts()
    const header = page.getByRole('columnheader', { name: 'Expires' })
    // Most of the company's clients expire. Then most never do.
    assert.equal(await header.count(), 1)
    others.expiresAt = null
    await page.reload()
    await page.getByRole('row').nth(4).waitFor()
    assert.equal(await header.count(), 0)
    await page.goto(`${baseUrl}${CLIENTS}?q=tick-&sort=expires`)
    await page.getByRole('row').nth(4).waitFor()
    assert.deepEqual(await names(), ['Tick-expired', 'Tick-soon', 'Tick-later', 'Tick-never'])
    await page.goto(`${baseUrl}${CLIENTS}?show=expiring&q=tick-`)
    await page.getByRole('radio', { name: 'Expires within 30 days 1' }).waitFor({ state: 'attached' })
    await header.getByRole('button').click()
    assert.equal(await header.getAttribute('aria-sort'), 'ascending')
    assert.deepEqual(await names(), ['Tick-soon'])
    await assertAccessible(page)
    await page.setViewportSize({ width: 320, height: 700 })
    await page.getByText('Expires in 12 days').waitFor()
    await assertFits(page)

    await page.goto(`${baseUrl}${CLIENTS}?q=tick-`)
    await page.getByRole('link', { name: 'Tick-expired' }).click()
    await page.getByText('This client has expired').waitFor()
    await page.locator('[data-tone=bad]').getByText('Expired').waitFor()
    await assertAccessible(page)
    await assertFits(page)
    await page.getByRole('button', { name: 'Rotate the secret' }).click()
    await page.getByText(/^It expired on .+ and can get no tokens\./).waitFor()
    assert.doesNotMatch(await page.locator('main').innerText(), /work until|keeps working/)
    await page.getByRole('button', { name: 'Create replacement' }).click()
    await findDialog(page).getByLabel('Name').waitFor()
    assert.doesNotMatch(await findDialog(page).innerText(), /work until/)
    await findDialog(page).getByRole('button', { name: 'Cancel' }).click()
    await page.goto(`${baseUrl}${CLIENTS}/${soon.clientId}`)
    await page.getByText('This client expires in 12 days').waitFor()
    await page.getByText(/deploy a replacement before then\.$/).waitFor()
  })
})

const findDialog = (page: Page) => page.getByRole('dialog')

const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString()

const formatDate = (at_ms: number) => new Date(at_ms).toLocaleDateString('sv', { timeZone: 'Europe/Berlin' })

const dayIn = (days: number) => formatDate(Date.now() + days * DAY_MS)

/** The service creates no client that expires within a day. Earlier tests' clients expire as `others` do. */
const answerExpiries = (page: Page, expiredId: string, others: { expiresAt: string | null }) =>
  page.route('**/oauth-clients**', async (route) => {
    if (route.request().method() !== 'GET') return route.continue()
    const response = await route.fetch()
    const json = await response.json()
    for (const client of json.clients ?? [json]) {
      if (client.clientId === expiredId) client.expiresAt = inDays(-2)
      else if (json.clients && !client.name.startsWith('Tick-')) client.expiresAt = others.expiresAt
    }
    await route.fulfill({ response, json })
  })

/** The texts by which a private key would be recognized wherever it went. */
function encodeForms(pem: string): string[] {
  const secret = Buffer.from(createPrivateKey(pem).export({ format: 'jwk' }).d as string, 'base64url')
  const lines = pem.split('\n').filter((line) => !line.startsWith('--') && line !== '')
  return [
    'PRIVATE KEY',
    ...lines,
    ...(['base64url', 'base64', 'hex'] as const).map((as) => secret.toString(as)),
  ]
}

/** Whether the page asks its reader before it is left. */
const asksBeforeLeaving = (page: Page): Promise<boolean> =>
  page.evaluate(() => !window.dispatchEvent(new Event('beforeunload', { cancelable: true })))

async function requestTokenByKey(baseUrl: string, clientId: string, key: KeyObject): Promise<Response> {
  const assertion = await new SignJWT({ jti: randomUUID() })
    .setProtectedHeader({ alg: 'ES256' })
    .setIssuer(clientId)
    .setSubject(clientId)
    .setAudience(baseUrl)
    .setExpirationTime('1 minute')
    .sign(key)
  return fetch(`${baseUrl}/v1/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion,
      scope: 'boost:read',
    }),
  })
}
