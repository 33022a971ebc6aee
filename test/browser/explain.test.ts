import { strict as assert } from 'node:assert'
import { forBlock } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'
import {
  api,
  createClient,
  GLOBEX_OWNER,
  leaveVisits,
  OWNER,
  requestToken,
  sessionToken,
  testWorkspace,
  untilExplained,
  visit,
} from '../support/workspace.ts'

describe('workspace: explaining a refusal', () => {
  const client = forBlock(async () => createClient(await sessionToken(OWNER), { name: 'Refused' }))
  let wrongSecret: string
  before(async () => {
    wrongSecret = await known(
      (await requestToken({ ...client, clientSecret: `${client.clientSecret}x` })).requestId,
    )
  })
  afterEach(leaveVisits)

  /** What a refusal is known by, once it can be looked up. */
  async function known(requestId: string): Promise<string> {
    await untilExplained(await sessionToken(OWNER), requestId)
    return requestId
  }

  it('opens the explanation from /explain/{request_id} after signing in', async () => {
    const { stack } = await testWorkspace()
    const { page } = await visit({ path: `/explain/${wrongSecret}` })
    await page.getByLabel('Email address').fill(OWNER)
    await page.getByLabel('Password').fill(stack.demoPassword)
    await page.getByRole('button', { name: 'Sign in' }).click()
    const explanation = page.getByRole('region', { name: 'Why it was refused' })
    await explanation.getByText('The client secret was wrong.').waitFor()
    await explanation.getByText(`ends in ${client.clientSecret.slice(-4)}, `).waitFor()
    await explanation.getByText('401 invalid_client').waitFor()
    assert.equal(new URL(page.url()).pathname, `/ven_acme/explain/${wrongSecret}`)
    await explanation.getByRole('link', { name: 'Refused' }).click()
    await page.getByRole('heading', { name: 'Refused', level: 1 }).waitFor()
  })

  it('accepts a request id as it is pasted, and names the missing scope, or who revoked the client and when', async () => {
    const refused = await requestToken({ ...client, scope: 'analytics:read boost:write' })
    const requestId = await known(refused.requestId)
    const token = await sessionToken(OWNER)
    const gone = await createClient(token, { name: 'Revoked' })
    await api(`/v1/vendor/ven_acme/oauth-clients/${gone.clientId}/revoke`, { token, method: 'POST' })
    const { page } = await visit({ as: OWNER, path: '/ven_acme/explain' })
    const box = page.getByRole('textbox', { name: 'Request id' })
    await box.fill('why?')
    await box.press('Enter')
    await page.getByText('Paste a request id').waitFor()
    await box.fill(`< X-Request-Id: ${requestId}\n`)
    await box.press('Enter')
    const explanation = page.getByRole('region', { name: 'Why it was refused' })
    await explanation.getByText('The client does not have boost:write.').waitFor()
    await explanation.getByText('create a replacement client with it').waitFor()
    assert.equal(await box.inputValue(), requestId)
    await explanation.getByText(requestId, { exact: true }).waitFor()
    await box.fill(await known((await requestToken(gone)).requestId))
    await box.press('Enter')
    await explanation
      .getByText(/^The client was revoked on \d+ \w+ 20\d\d at \d\d:\d\d by Olivia Brandt\./)
      .first()
      .waitFor()
  })

  it('says that a request was granted, and of which client it was', async () => {
    const { requestId } = await requestToken(client)
    const token = await sessionToken(OWNER)
    const listed = async () => api(`/v1/vendor/ven_acme/oauth-clients/${client.clientId}/requests`, { token })
    await eventually(async () => JSON.stringify(await listed()).includes(requestId), { every_ms: 100 })
    const { page } = await visit({ as: OWNER, path: `/explain/${requestId}` })
    const outcome = page.getByRole('region', { name: 'This request was granted' })
    await outcome.getByRole('link', { name: 'Refused' }).waitFor()
    await outcome.getByText('POST /v1/oauth/token').waitFor()
    assert.equal(await outcome.getByRole('button').count(), 0)
  })

  it('explains nothing to another company, and no unknown request', async () => {
    const { page, baseUrl } = await visit({ as: GLOBEX_OWNER, path: `/explain/${wrongSecret}` })
    const unknown = page.getByRole('status').filter({ hasText: 'No request with this id on record' })
    await unknown.waitFor()
    await page.getByRole('heading', { name: 'This request', level: 2 }).waitFor()
    assert.equal(await page.getByRole('heading', { name: 'Why it was refused' }).count(), 0)
    const said = await unknown.textContent()
    await page.goto(`${baseUrl}/ven_globex/explain/${crypto.randomUUID()}`)
    await unknown.waitFor()
    assert.equal(await unknown.textContent(), said)
  })
})
