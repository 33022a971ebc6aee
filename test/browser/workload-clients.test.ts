import assert from 'node:assert/strict'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { SignJWT } from 'jose'
import type { Page, Request } from 'playwright-core'
import { drain, listen } from '#shared/process/http-server.ts'
import { afterwards } from '../support/afterwards.ts'
import { run } from '../support/program.ts'
import { fillClient, submitClient } from '../support/reveal.ts'
import { connectedDatabase } from '../support/stores.ts'
import {
  api,
  assertAccessible,
  assertFits,
  clickUntilShown,
  createClient,
  leaveVisits,
  newSession,
  OWNER,
  sessionToken,
  testStack,
  type Visit,
  visit,
} from '../support/workspace.ts'

const CLIENTS = '/ven_acme/integrations/oauth2-clients'
const GITHUB = 'https://token.actions.githubusercontent.com'
const CLUSTER = 'https://oidc.cluster.example'

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const keySet = (kid: string, key = publicKey) =>
  JSON.stringify({ keys: [{ ...key.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' }] })

/** Runs the commands of a workflow where GitHub's runner would, whose endpoint answers as documented. */
async function runJob(script: string, { environment }: { environment: string }): Promise<string> {
  const server = createServer(async ({ url = '', headers }, response) => {
    assert.equal(headers.authorization, 'Bearer runner')
    const aud = new URL(url, 'http://runner').searchParams.get('audience') ?? ''
    const claims = { repository_id: '1296269', repository: 'octo-org/octo-repo', ref: 'refs/heads/main' }
    const value = await new SignJWT({ ...claims, environment, jti: randomUUID() })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid: 'github-1' })
      .setSubject(`repo:octo-org@9919/octo-repo@1296269:environment:${environment}`)
      .setIssuer(GITHUB)
      .setAudience(aud)
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(privateKey)
    response.end(JSON.stringify({ count: value.length, value }))
  })
  const port = await listen(server, { host: '127.0.0.1', port: 0 })
  const ACTIONS_ID_TOKEN_REQUEST_URL = `http://127.0.0.1:${port}/token?api-version=2.0`
  const env = { ...process.env, ACTIONS_ID_TOKEN_REQUEST_URL, ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'runner' }
  await using _ = afterwards(() => drain(server, 1_000))
  return (await run('bash', ['-c', script], { env, timeout: 30_000 })).stdout
}

const findDialog = (page: Page) => page.getByRole('dialog')

describe('workspace: clients that trust a platform', () => {
  let token: string
  before(async () => {
    token = await sessionToken(OWNER)
    // GitHub's keys are not fetched where the company has pasted some.
    const workload = { issuer: GITHUB, claims: { sub: 'another' }, keys: JSON.parse(keySet('github-1')) }
    await createClient(token, { name: 'Holds the keys', workload })
  })
  afterEach(leaveVisits)

  async function open(name: string, options: Parameters<typeof visit>[0] = {}): Promise<Visit> {
    const tab = await visit({ sessionToken: token, path: CLIENTS, ...options })
    const { page } = tab
    await fillClient(page, name, 'Read daily analytics')
    await findDialog(page)
      .getByRole('radio', { name: /trust a platform/ })
      .check()
    return tab
  }
  const newest = async (name: string) => {
    const { clients } = await api('/v1/vendor/ven_acme/oauth-clients?status=Active&limit=200', { token })
    return clients.find((client: { name: string }) => client.name === name)
  }

  it('leads from the list to the workflow of a GitHub job, with nothing to save', async () => {
    const { page, baseUrl } = await open('GitHub job', { width: 1440 })
    const dialog = findDialog(page)
    await dialog.getByLabel('Repository id').fill('1296269')
    await dialog.getByLabel('Environment').fill('production')
    await submitClient(page)
    await dialog.getByText('GitHub job is ready').waitFor()
    const { clientId, workload } = await newest('GitHub job')
    assert.deepEqual(workload, {
      issuer: GITHUB,
      platform: 'github',
      claims: { repository_id: '1296269', environment: 'production' },
    })
    const file = await dialog.getByRole('region', { name: '.github/workflows/report.yml' }).innerText()
    for (const line of [
      'id-token: write',
      'environment: "production"',
      `audience=${baseUrl}`,
      `client_id=${clientId}`,
    ])
      assert.ok(file.includes(line), line)
    await dialog.getByText('Waiting for the first token request: run the job').waitFor()
    assert.equal(await dialog.getByRole('checkbox').count(), 0)
    const script = file.slice(file.indexOf('ASSERTION='))
    await assert.rejects(runJob(script, { environment: 'Production' }), /invalid_client/)
    const attempts = dialog.getByRole('log', { name: 'Attempts' })
    await attempts.getByText('Refused: claim differs.').waitFor()
    assert.equal(JSON.parse(await runJob(script, { environment: 'production' })).vendorId, 'ven_acme')
    await attempts.getByText('Token issued').waitFor()
    const issued = dialog.getByText(/Token issued at .*: the id and workload work/)
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
    await dialog.getByText('refs/heads/main differs: refs/heads/Main', { exact: true }).waitFor()
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

  it('says what is wrong with a platform, takes pasted keys for a private cluster, refuses a private one, and replaces them', async () => {
    const { page, baseUrl } = await open('In a cluster')
    const dialog = findDialog(page)
    await submitClient(page)
    await dialog.getByText('Fill in: Repository id.').waitFor()
    await dialog.getByLabel('Repository id').fill('1296269')
    await submitClient(page)
    await dialog.getByText(/^The claims must name sub, or environment or ref/).waitFor()
    await dialog.getByLabel('Platform', { exact: true }).selectOption('Other')
    await dialog.getByLabel('Issuer').fill('http://issuer.example')
    await dialog.getByLabel('Subject').fill('report')
    await submitClient(page)
    await dialog.getByText(/^The issuer must be an https URL/).waitFor()

    await dialog.getByLabel('Public keys').fill(keySet('of another'))
    await dialog.getByLabel('Platform', { exact: true }).selectOption('Kubernetes')
    assert.equal(await dialog.getByLabel('Public keys').inputValue(), '')
    await dialog.getByLabel('Issuer').fill(CLUSTER)
    await dialog.getByLabel('Service account').fill('prod:report')
    const keys = dialog.getByLabel('Public keys')
    const sent: string[] = []
    page.on('request', (request) => sent.push(request.postData() ?? ''))
    const secret = privateKey.export({ format: 'jwk' })
    await keys.fill(JSON.stringify({ keys: [secret] }))
    await dialog.getByText('This is a private key. Paste the public one.').waitFor()
    assert.equal(await keys.inputValue(), '')
    assert.ok(sent.every((body) => !body.includes(secret.d as string)))
    await keys.fill(keySet('cluster-1'))
    await submitClient(page)
    await dialog.getByText('In a cluster is ready').waitFor()
    const file = await dialog.getByRole('region', { name: 'report.yaml' }).innerText()
    for (const line of ['namespace: prod', 'serviceAccountName: report', `audience: ${baseUrl}`])
      assert.ok(file.includes(line), line)
    await dialog.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('link', { name: 'In a cluster' }).click()
    await page.getByText('system:serviceaccount:prod:report', { exact: true }).waitFor()
    await page.getByText(/^Pasted .*: ?cluster-1/).waitFor()
    await page.getByRole('button', { name: 'Replace the keys' }).click()
    await dialog.getByLabel('Public keys').fill('{"keys":[]}')
    await dialog.getByRole('button', { name: 'Replace the keys' }).click()
    await dialog.getByText(/must have a key for signatures/).waitFor()
    await dialog.getByLabel('Public keys').fill(keySet('cluster-2'))
    await dialog.getByRole('button', { name: 'Replace the keys' }).click()
    await page.getByText(/^Pasted .*: ?cluster-2/).waitFor()
    await assertAccessible(page)
  })

  it('keeps keys that were pasted when the session ends, until the same person signs in again', async () => {
    const keys = JSON.parse(keySet('kept'))
    const workload = { issuer: 'https://kept.example', claims: { sub: 'a' }, keys }
    const { clientId } = await createClient(token, { name: 'Kept keys', workload })
    const session = await newSession(OWNER)
    const { page } = await visit({ sessionToken: session, path: `${CLIENTS}/${clientId}` })
    await page.getByRole('button', { name: 'Replace the keys' }).click()
    const field = findDialog(page).getByLabel('Public keys')
    await field.fill(keySet('kept-2'))
    await api('/v1/session', { token: session, method: 'DELETE' })
    const ended = page.getByText('Sign in to continue where you left off.')
    await clickUntilShown(findDialog(page).getByRole('button', { name: 'Replace the keys' }), ended)
    await page.getByLabel('Password').fill((await testStack()).demoPassword)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await ended.waitFor({ state: 'detached' })
    await field.waitFor()
    assert.equal(await field.inputValue(), keySet('kept-2'))
  })

  it('lets a person choose whose claims the tokens of an own installation have', async () => {
    const { page } = await open('In our GitLab')
    const dialog = findDialog(page)
    const select = dialog.getByLabel('Platform', { exact: true })
    await select.selectOption('GitHub Enterprise')
    await dialog.getByLabel('Issuer').fill('https://gitlab.com')
    await dialog.getByLabel('Repository id').fill('22')
    await dialog.getByLabel('Branch').fill('main')
    await submitClient(page)
    await dialog.getByText('The platform must be gitlab for this issuer, or left out.').waitFor()
    await select.selectOption('GitLab, self-managed')
    await dialog.getByLabel('Issuer').fill('https://gitlab.acme.example')
    await dialog.getByLabel('Project id').fill('22')
    await dialog.getByLabel('Public keys').fill(keySet('gitlab-1'))
    await submitClient(page)
    await dialog.getByText('In our GitLab is ready').waitFor()
    await dialog.getByRole('region', { name: '.gitlab-ci.yml' }).waitFor()
    const { workload } = await newest('In our GitLab')
    const claims = { project_id: '22', ref_protected: 'true' }
    assert.deepEqual(workload, { issuer: 'https://gitlab.acme.example', platform: 'gitlab', claims })
    await dialog.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('link', { name: 'In our GitLab', exact: true }).click()
    await page.getByRole('term').filter({ hasText: 'Platform: GitLab, self-managed' }).waitFor()
  })

  it('warns when the keys of the issuer cannot be fetched', async () => {
    const workload = {
      issuer: 'https://down.example',
      claims: { sub: 'a' },
      keys: JSON.parse(keySet('down')),
    }
    const { clientId } = await createClient(token, { name: 'Old keys', workload })
    const { stores } = await testStack()
    await using db = connectedDatabase(stores.postgres.ownerUrl)
    await db.raw(
      `update workload_issuers set keys_from = 'issuer', keys_as_of = now() - interval '3 hours',
         attempted_at = now(), failure = 'name not found' where issuer = 'https://down.example'`,
    )
    const { page } = await visit({ sessionToken: token, path: `${CLIENTS}/${clientId}` })
    await page.getByText(/^The keys could not be fetched: name not found\./).waitFor()
    await page.getByText(/^Fetched 3 hours ago: ?down/).waitFor()
    await assertAccessible(page)
  })

  it('replaces a client by one of the same workload', async () => {
    const workload = { issuer: GITHUB, claims: { sub: 'a', actor: 'b' } }
    const scopes = ['boost:read', 'analytics:read']
    const { clientId } = await createClient(token, { name: 'Replaced', scopes, workload })
    const { page } = await visit({ sessionToken: token, path: `${CLIENTS}/${clientId}` })
    await page.getByRole('button', { name: 'Replace the client' }).click()
    await page.getByRole('button', { name: 'Create replacement' }).click()
    await findDialog(page).getByText('Workload, the same as before').waitFor()
    await findDialog(page).getByRole('button', { name: 'Create replacement' }).click()
    await findDialog(page).getByRole('button', { name: 'Done' }).click()
    await page.getByRole('link', { name: 'Replaced 2' }).first().waitFor()
    const replacement = await newest('Replaced 2')
    assert.deepEqual([replacement.workload.claims, replacement.scopes], [workload.claims, scopes])
  })

  it('has accessible forms for each platform, as wide as the window', async () => {
    const { page } = await open('Looked at', { width: 1440 })
    const select = findDialog(page).getByLabel('Platform', { exact: true })
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 })
      for (const platform of await select.locator('option').allInnerTexts()) {
        await select.selectOption(platform)
        await assertFits(page)
      }
    }
    await findDialog(page).getByText('Compare a token').click()
    await assertAccessible(page)
    await page.emulateMedia({ colorScheme: 'dark' })
    await assertAccessible(page, ['color-contrast'])
    await findDialog(page).getByRole('button', { name: 'Cancel' }).click()
  })
})
