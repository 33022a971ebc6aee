import { strict as assert } from 'node:assert'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Dialog, Page } from 'playwright-core'
import { OWNER, type Visit, visit } from '../support/workspace.ts'

/** How long the browser is given to ask before it closes a tab. */
const ASKED_WITHIN_MS = 20_000

describe('workspace: what would be lost', () => {
  let tab: Visit
  afterEach(() => tab?.leave())

  it('stores and caches no secret while it is shown, and asks before the tab closes until it is saved', async () => {
    tab = await visit({ as: OWNER, path: '/ven_acme/integrations/oauth2-clients' })
    const { page } = tab
    await page.getByRole('button', { name: 'Create client' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Kept nowhere')
    await dialog.getByRole('checkbox', { name: /Read daily analytics/ }).check()
    await dialog.getByRole('button', { name: 'Create client' }).click()
    const secret = (await dialog
      .getByText(/^ias_\w+$/)
      .first()
      .textContent()) as string
    assert.match(secret, /^ias_/)
    await dialog.getByText('Waiting for the first token request').waitFor()
    await assertKeptNowhere(page, secret)

    assert.equal(await askedOnClosing(page), 'beforeunload')
    assert.equal(page.isClosed(), false)
    await dialog.getByRole('checkbox', { name: 'I have saved the secret' }).check()
    await dialog.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('row', { name: /Kept nowhere/ }).waitFor()
    await assertKeptNowhere(page, secret)
    assert.equal(await askedOnClosing(page), 'closed')
  })
})

/** Tries to close the tab, and stays if the browser asks. @returns the kind of question, or `closed`. */
async function askedOnClosing(page: Page): Promise<string> {
  return Promise.race([
    new Promise<string>((resolve) => {
      page.once('dialog', (question: Dialog) => {
        resolve(question.type())
        void question.dismiss()
      })
      page.once('close', () => resolve('closed'))
      void page.close({ runBeforeUnload: true })
    }),
    sleep(ASKED_WITHIN_MS, 'nothing'),
  ])
}

/** @throws AssertionError when a storage of the browser or the cache of what was read from the service has it. */
async function assertKeptNowhere(page: Page, secret: string): Promise<void> {
  const kept = await page.evaluate(() => {
    interface Fiber {
      memoizedProps?: {
        client?: { getQueryCache?(): { getAll(): { queryKey: unknown; state: unknown }[] } }
      } | null
      child?: Fiber | null
    }
    const root = document.getElementById('root') as unknown as Record<string, Fiber>
    const container = Object.keys(root).find((name) => name.startsWith('__reactContainer$')) as string
    let fiber: Fiber | null | undefined = root[container]
    while (fiber && !fiber.memoizedProps?.client?.getQueryCache) fiber = fiber.child
    const cache = fiber?.memoizedProps?.client?.getQueryCache?.().getAll() ?? []
    return {
      queries: cache.length,
      text: JSON.stringify([
        cache.map(({ queryKey, state }) => [queryKey, state]),
        { ...sessionStorage },
        { ...localStorage },
        document.cookie,
        history.state,
      ]),
    }
  })
  assert.ok(kept.queries > 0, 'the cache was found')
  assert.equal(kept.text.includes(secret), false)
}
