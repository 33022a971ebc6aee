import { strict as assert } from 'node:assert'
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
} from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { calculateJwkThumbprint, type JWK } from 'jose'
import type { Page, Request } from 'playwright-core'
import { signJwt } from '../support/assertions.ts'
import { fillClient, submitClient } from '../support/reveal.ts'
import {
  api,
  asksBeforeLeaving,
  CLIENTS,
  clickUntilShown,
  findClients,
  loseAnswer,
  newSession,
  OWNER,
  requestToken,
  signIn,
  untilReported,
  vendorApi,
  visit,
} from '../support/workspace.ts'

const MADE_HERE = /created in this browser/
const OWN = /of your own/
const DAY_MS = 86_400_000

const own = generateKeyPairSync('rsa', { modulusLength: 2048 })
const computeThumbprint = (key: KeyObject) =>
  calculateJwkThumbprint(createPublicKey(key).export({ format: 'jwk' }) as JWK)

describe('workspace: clients that have a key, or expire', () => {
  async function downloaded(page: Page): Promise<{ name: string; pem: string }> {
    const downloading = page.waitForEvent('download')
    await page.getByRole('dialog').getByRole('button', { name: 'Download' }).click()
    const file = await downloading
    return { name: file.suggestedFilename(), pem: await readFile(await file.path(), 'utf8') }
  }

  it('makes a key pair whose private key reaches a file and no request, storage or cookie', async () => {
    const { page, context, baseUrl } = await visit({ as: OWNER, path: CLIENTS })
    const requests: Request[] = []
    page.on('request', (request) => requests.push(request))
    const dialog = await fillClient(page, 'Made here', 'Read boosts')
    await dialog.getByRole('radio', { name: MADE_HERE }).check()
    await submitClient(page)
    await dialog.getByText('Waiting for the first token request').waitFor()

    const { name, pem } = await downloaded(page)
    assert.match(name, /^cli_\w{22}\.pem$/)
    const clientId = name.replace('.pem', '')
    const announced = page.getByRole('status').getByText('Copied private key', { exact: true }).waitFor()
    await dialog.getByRole('button', { name: 'Copy private key' }).click()
    await dialog.getByRole('button', { name: 'Copied private key' }).waitFor()
    await announced
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), pem)
    const client = await vendorApi(`/oauth-clients/${clientId}`)
    assert.equal(client.keyThumbprint, await computeThumbprint(createPrivateKey(pem)))
    await dialog.getByText(client.keyThumbprint, { exact: true }).waitFor()
    assert.equal((await page.content()).includes('PRIVATE KEY'), false)

    await page.keyboard.press('Escape')
    await dialog.getByText('once this is closed, the private key is gone').waitFor()
    const exp = Math.floor(Date.now() / 1_000) + 60
    const claims = { iss: clientId, sub: clientId, aud: baseUrl, exp, jti: randomUUID() }
    const assertion = await signJwt(claims, createPrivateKey(pem), { alg: 'ES256' })
    assert.equal((await requestToken({ clientId, assertion, scope: 'boost:read' })).status, 200)
    await dialog.getByText(/Token issued at .*: the id and key work/).waitFor()
    await page
      .getByRole('status')
      .getByText(/^Copied/)
      .waitFor({ state: 'detached' })
    assert.equal(await asksBeforeLeaving(page), true)
    await dialog.getByRole('checkbox', { name: 'I have saved the private key' }).check()
    assert.equal(await asksBeforeLeaving(page), false)
    await dialog.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('row', { name: /Made here/ }).waitFor()

    const left = JSON.stringify([
      ...requests.map((request) => [request.url(), request.postData(), request.headers()]),
      await context.storageState({ indexedDB: true }),
      await page.evaluate(async () => [await caches.keys(), { ...sessionStorage }, history.state]),
    ])
    assert.ok(left.includes('kty'), 'the public key was sent')
    for (const form of encodeForms(pem)) assert.equal(left.includes(form), false, form)
  })

  it('offers the private key when only the second try was answered, after the session had ended', async () => {
    const token = await newSession(OWNER)
    const { page } = await visit({ sessionToken: token, path: CLIENTS })
    const dialog = await fillClient(page, 'Answered late', 'Read boosts')
    await dialog.getByRole('radio', { name: MADE_HERE }).check()
    await dialog.getByLabel('Expires').selectOption('In 90 days')
    await loseAnswer(page, '**/oauth-clients')
    await submitClient(page)
    await dialog.getByText('it will not be created twice').waitFor()
    await api('/v1/session', { token, method: 'DELETE' })
    const ended = page.getByText('Sign in to continue where you left off.')
    await clickUntilShown(dialog.getByRole('button', { name: 'Create client' }), ended)
    await signIn(page, OWNER)
    await submitClient(page)
    const { pem } = await downloaded(page)
    const clients = await findClients('Answered late')
    assert.equal(clients.length, 1)
    assert.equal(clients[0].keyThumbprint, await computeThumbprint(createPrivateKey(pem)))
    assert.equal(formatDate(Date.parse(clients[0].expiresAt)), dayIn(90))
    await dialog.getByRole('checkbox', { name: 'I have saved the private key' }).check()
    await dialog.getByRole('button', { name: 'Done' }).click()
  })

  it('refuses a private key before it is sent, and a weak one at its field, and creates a client for a good one', async () => {
    const { page } = await visit({ as: OWNER, path: CLIENTS, width: 1440 })
    const sent: string[] = []
    page.on('request', (request) => sent.push(request.postData() ?? ''))
    const dialog = await fillClient(page, 'Pasted', 'Read boosts')
    await dialog.getByRole('radio', { name: OWN }).check()
    const field = dialog.getByRole('textbox', { name: 'Public key' })
    const pem = own.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    await field.fill(pem)
    await dialog.getByText('This is a private key. Paste the public one.').waitFor()
    assert.equal(await field.inputValue(), '')
    await submitClient(page)
    await dialog.getByText('Paste the public key.', { exact: true }).waitFor()
    await field.and(page.locator(':focus')).waitFor()
    await untilReported(page)
    for (const form of encodeForms(pem)) assert.ok(sent.every((body) => !body.includes(form)))
    assert.equal(sent.filter((body) => body.includes('Pasted')).length, 0)

    const weak = generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 3 }).publicKey
    await field.fill(weak.export({ type: 'spki', format: 'pem' }).toString())
    await submitClient(page)
    await dialog.getByText(/^The key must have the exponent 65,537/).waitFor()
    await dialog.getByText('Correct the marked fields.').waitFor()
    assert.equal(await field.getAttribute('aria-invalid'), 'true')
    await field.fill(JSON.stringify({ ...own.publicKey.export({ format: 'jwk' }), use: 'enc' }))
    assert.equal(await field.getAttribute('aria-invalid'), null)
    await submitClient(page)
    await dialog.getByText('with the private key that belongs to your public key').waitFor()
    assert.match(await dialog.getByRole('region', { name: 'curl command' }).innerText(), /"alg":"RS256"/)
    assert.equal(await dialog.getByRole('checkbox').count(), 0)
    // There is nothing to save, so nothing keeps the dialog open.
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Pasted' }).click()
    await page.getByText(await computeThumbprint(own.privateKey), { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Rotate the key' }).waitFor()
  })
})

const formatDate = (at_ms: number) => new Date(at_ms).toLocaleDateString('sv', { timeZone: 'Europe/Berlin' })

const dayIn = (days: number) => formatDate(Date.now() + days * DAY_MS)

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
