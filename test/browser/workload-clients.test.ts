import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Page, Request } from 'playwright-core'
import { newKeyPair, signJwt } from '../support/assertions.ts'
import { fillClient, submitClient } from '../support/reveal.ts'
import {
  api,
  CLIENTS,
  clickUntilShown,
  createClient,
  findClients,
  newSession,
  OWNER,
  requestToken,
  testStack,
  type Visit,
  type VisitOptions,
  visit,
} from '../support/workspace.ts'

const GITHUB = 'https://token.actions.githubusercontent.com'

const { jwk, privateKey } = newKeyPair('RSA')
const keySet = (kid: string) => ({ keys: [{ ...jwk, kid, use: 'sig', alg: 'RS256' }] })

const findDialog = (page: Page) => page.getByRole('dialog')

describe('workspace: clients that trust a platform', () => {
  before(async () => {
    // GitHub's keys are not fetched where the company has pasted some.
    const workload = { issuer: GITHUB, claims: { sub: 'another' }, keys: keySet('github-1') }
    await createClient({ name: 'Holds the keys', workload })
  })

  async function open(name: string, options: VisitOptions = {}): Promise<Visit> {
    const tab = await visit({ as: OWNER, path: CLIENTS, ...options })
    const dialog = await fillClient(tab.page, name, 'Read daily analytics')
    await dialog.getByRole('radio', { name: /trust a platform/ }).check()
    return tab
  }

  it('leads from the list to the workflow of a GitHub job, with nothing to save', async () => {
    const { page, baseUrl } = await open('GitHub job', { width: 1440 })
    const dialog = findDialog(page)
    await dialog.getByLabel('Repository id').fill('1296269')
    await dialog.getByLabel('Environment').fill('production')
    await submitClient(page)
    await dialog.getByText('GitHub job is ready').waitFor()
    const { clientId, workload } = (await findClients('GitHub job'))[0]
    assert.deepEqual(workload, {
      issuer: GITHUB,
      platform: 'github',
      claims: { repository_id: '1296269', environment: 'production' },
    })
    const file = await dialog.getByRole('region', { name: '.github/workflows/report.yml' }).innerText()
    const [permission, environment] = ['id-token: write', 'environment: "production"']
    for (const line of [permission, environment, `audience=${baseUrl}`, `client_id=${clientId}`])
      assert.ok(file.includes(line), line)
    await dialog.getByText('Waiting for the first token request: run the job').waitFor()
    assert.equal(await dialog.getByRole('checkbox').count(), 0)
    const ask = async (environment: string) => {
      const [iat, aud] = [Math.floor(Date.now() / 1_000), baseUrl]
      const subject = { iss: GITHUB, sub: 'octo-org', repository_id: '1296269', environment }
      const claims = { ...subject, aud, iat, exp: iat + 300, jti: randomUUID() }
      const assertion = await signJwt(claims, privateKey, { alg: 'RS256', typ: 'JWT', kid: 'github-1' })
      return requestToken({ clientId, assertion })
    }
    assert.equal((await ask('Production')).status, 401)
    await dialog.getByText('Refused: wrong or missing claim.').waitFor()
    assert.equal((await ask('production')).status, 200)
    const issued = dialog.getByText(/Token issued at .*: the id and workload match/)
    assert.doesNotMatch(await issued.innerText(), /\n/, 'its parts stand apart')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'GitHub job', exact: true }).click()
    await page.getByRole('term').filter({ hasText: 'Platform: GitHub Actions' }).waitFor()
  })

  it('compares a pasted token in the browser, and neither sends nor stores it', async () => {
    const { page, baseUrl, context } = await open('Compared')
    const dialog = findDialog(page)
    const sent: Request[] = []
    page.on('request', (request) => sent.push(request))
    const platform = dialog.getByLabel('Platform', { exact: true })
    await platform.selectOption('Kubernetes')
    await submitClient(page)
    await dialog.getByLabel('Issuer').and(page.locator('[aria-invalid]:focus')).waitFor()
    await platform.selectOption('GitHub Actions')
    await dialog.getByLabel('Repository id').fill('1296269')
    await dialog.getByLabel('Branch').fill('main')
    await dialog.getByText('Compare a token').click()
    const field = dialog.getByLabel('A token of the platform')
    await field.fill('eyJ')
    await dialog.getByText('This is not a JWT.').waitFor()
    const now = Math.floor(Date.now() / 1_000)
    const claims = { iss: GITHUB, repository_id: '1296269', ref: 'refs/heads/Main', aud: baseUrl }
    const payload = Buffer.from(JSON.stringify({ ...claims, iat: now, exp: now + 300 })).toString('base64url')
    await field.fill(`e30.${payload}.c2ln`)
    const compared = dialog.locator('[aria-live]')
    await compared.getByText('refs/heads/main differs: refs/heads/Main', { exact: true }).waitFor()
    assert.equal(await dialog.getByText('matches', { exact: true }).count(), 4)
    await dialog.getByLabel('Branch').fill('Main')
    await dialog.getByText('differs').waitFor({ state: 'detached' })
    await submitClient(page)
    await dialog.getByText('Compared is ready').waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    const kept = [
      sent.map((request) => [request.url(), request.postData(), request.headers()]),
      await context.storageState({ indexedDB: true }),
      await page.evaluate(() => [{ ...sessionStorage }, history.state]),
    ]
    assert.ok(JSON.stringify(kept).includes('refs/heads/Main'), 'the map itself was sent')
    assert.equal(JSON.stringify(kept).includes(payload), false)
  })

  it('keeps keys that were pasted when the session ends, until the same person signs in again', async () => {
    const workload = { issuer: 'https://kept.example', claims: { sub: 'a' }, keys: keySet('kept') }
    const { clientId } = await createClient({ name: 'Kept keys', workload })
    const session = await newSession(OWNER)
    const { page } = await visit({ sessionToken: session, path: `${CLIENTS}/${clientId}` })
    await page.getByRole('button', { name: 'Replace the keys' }).click()
    const field = findDialog(page).getByLabel('Public keys')
    const typed = JSON.stringify(keySet('kept-2'))
    await field.fill(typed)
    await api('/v1/session', { token: session, method: 'DELETE' })
    const ended = page.getByText('Sign in to continue where you left off.')
    await clickUntilShown(findDialog(page).getByRole('button', { name: 'Replace the keys' }), ended)
    await page.getByLabel('Password').fill((await testStack()).demoPassword)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await ended.waitFor({ state: 'detached' })
    await field.waitFor()
    assert.equal(await field.inputValue(), typed)
  })
})
