import { strict as assert } from 'node:assert'
import type { Page } from 'playwright-core'
import { closeReveal, fillClient, readReveal, submitClient } from '../support/reveal.ts'
import {
  api,
  asksBeforeLeaving,
  CLIENTS,
  clickUntilShown,
  createClient,
  loseAnswer,
  newSession,
  OWNER,
  signIn,
  testStack,
  untilReported,
  visit,
} from '../support/workspace.ts'

describe('workspace: what would be lost', () => {
  it('shows a secret once, in its dialog only, stores and caches it nowhere, and asks before the tab closes until it is saved', async () => {
    const { serviceOutput } = await testStack()
    const { page } = await visit({ as: OWNER, path: CLIENTS })
    const dialog = await fillClient(page, 'Kept nowhere', 'Read daily analytics')
    await submitClient(page)
    const { clientSecret } = await readReveal(page)
    await dialog.getByText('Waiting for the first token request').waitFor()
    await assertKeptNowhere(page, clientSecret)
    assert.equal(await asksBeforeLeaving(page), true)
    await closeReveal(page)
    assert.equal((await page.content()).includes(clientSecret), false)
    await page.getByRole('link', { name: 'Kept nowhere' }).click()
    await page.getByText('the-secret-that-you-saved').waitFor()
    for (const text of [await page.content(), page.url(), serviceOutput()])
      assert.equal(text.includes(clientSecret), false)
    await assertKeptNowhere(page, clientSecret)
    assert.equal(await asksBeforeLeaving(page), false)
  })

  for (const [path, open, choice, send, texts] of [
    ['people', 'Invite a person', /^Member/, 'Create the link', ['Kim R.', 'kim@acme.example']],
    ['integrations/oauth2-clients', 'Create client', /^Read boosts/, 'Create client', ['Warehouse reports']],
  ] as const)
    it(`keeps what was typed for “${send}” when the session ends, until the same person signs in again`, async () => {
      const token = await newSession(OWNER)
      const { page } = await visit({ sessionToken: token, path: `/ven_acme/${path}` })
      await page.getByRole('button', { name: open }).click()
      const form = page.locator('form:not([role="search"])')
      const fields = form.locator('input:is([name="name"], [name="email"])')
      for (const [index, text] of texts.entries()) await fields.nth(index).fill(text)
      await form.getByLabel(choice).check()
      if (send === 'Create the link') await form.getByRole('button', { name: 'Copy a link instead' }).click()
      await api('/v1/session', { token, method: 'DELETE' })
      const ended = page.getByText('Sign in to continue where you left off.')
      await clickUntilShown(form.getByRole('button', { name: send }), ended)
      await signIn(page, OWNER)
      await ended.waitFor({ state: 'detached' })
      await fields.nth(texts.length - 1).waitFor()
      const values = fields.evaluateAll((all) => all.map((it) => (it as HTMLInputElement).value))
      assert.deepEqual(await values, texts)
      assert.equal(await form.getByLabel(choice).isChecked(), true)
      await form.getByRole('button', { name: send }).waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('button', { name: open }).click()
      assert.equal(await fields.first().inputValue(), '')
    })

  it('creates a replacement once, also when the answer is lost and the client is known to be replaced', async () => {
    const { clientId } = await createClient({ name: 'Replaced once' })
    const { page } = await visit({ as: OWNER, path: `${CLIENTS}/${clientId}/rotate` })
    await page.getByRole('button', { name: 'Create replacement' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel(/^Key pair, created/).check()
    await loseAnswer(page, '**/oauth-clients')
    const known = page.waitForResponse(
      async (answer) => answer.url().endsWith(clientId) && (await answer.json()).replacedBy !== null,
    )
    await dialog.getByRole('button', { name: 'Create replacement' }).click()
    await dialog.getByText('it will not be created twice').waitFor()
    await known
    await untilReported(page)
    await dialog.getByRole('button', { name: 'Create replacement' }).click()
    await page.getByText('is ready').waitFor()
  })

  it('keeps what was typed for the page it was typed on alone', async () => {
    const [first, second] = [await createClient({ name: 'Typed' }), await createClient({ name: 'Not typed' })]
    const token = await newSession(OWNER)
    const { page } = await visit({ sessionToken: token, path: `${CLIENTS}/${second.clientId}` })
    await page.getByRole('heading', { name: 'Not typed' }).waitFor()
    await page.evaluate((to) => history.pushState(null, '', to), `${CLIENTS}/${first.clientId}`)
    await page.getByRole('heading', { name: 'Typed', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Rename' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Typed here')
    await api('/v1/session', { token, method: 'DELETE' })
    const ended = page.getByText('Sign in to continue where you left off.')
    await clickUntilShown(dialog.getByRole('button', { name: 'Save the name' }), ended)
    await page.goBack()
    await signIn(page, OWNER)
    await page.getByText(second.clientId).first().waitFor()
    assert.equal(await dialog.count(), 0)
    await page.goForward()
    assert.equal(await dialog.getByLabel('Name').inputValue(), 'Typed here')
  })
})

/** @throws AssertionError if a storage or the cache of answers has it, or what a closed form sent is kept. */
async function assertKeptNowhere(page: Page, secret: string): Promise<void> {
  const kept = await page.evaluate(() => {
    interface Fiber {
      memoizedProps?: {
        client?: {
          getQueryCache?(): { getAll(): { queryKey: unknown; state: unknown }[] }
          getMutationCache(): { getAll(): unknown[] }
        }
      } | null
      child?: Fiber | null
    }
    const root = document.getElementById('root') as unknown as Record<string, Fiber>
    const container = Object.keys(root).find((name) => name.startsWith('__reactContainer$')) as string
    let fiber: Fiber | null | undefined = root[container]
    while (fiber && !fiber.memoizedProps?.client?.getQueryCache) fiber = fiber.child
    const cache = fiber?.memoizedProps?.client?.getQueryCache?.().getAll() ?? []
    const answers = cache.map(({ queryKey, state }) => [queryKey, state])
    const stores = [sessionStorage, localStorage, document.cookie, history.state]
    const sent = fiber?.memoizedProps?.client?.getMutationCache().getAll()
    return { queries: cache.length, sent: sent?.length, text: JSON.stringify([answers, stores]) }
  })
  assert.ok(kept.queries > 0, 'the cache was found')
  assert.equal(kept.sent, 0, 'what forms have sent')
  assert.equal(kept.text.includes(secret), false)
}
