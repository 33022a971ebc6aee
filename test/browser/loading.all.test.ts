import { strict as assert } from 'node:assert'
import type { Page } from 'playwright-core'
import { forBlock } from '../support/block.ts'
import { connectedDatabase } from '../support/stores.ts'
import {
  assertFits,
  createTestCompany,
  OWNER,
  testStack,
  testWorkspace,
  visit,
} from '../support/workspace.ts'

/** A tenth of what Google calls good. */
const LAYOUT_SHIFT = 0.01
const LONGEST_TASK_MS = 200
const SLOWER = 4
const LOADS = 8
const SCREENS = ['integrations/oauth2-clients', 'integrations/webhooks', 'analytics', 'activity', 'people']

describe('workspace: the page, while it loads', () => {
  const many = forBlock(createManyClients)

  for (const { width, late } of [
    { width: 360, late: '/people' },
    { width: 360, late: '/v1/sign-in' },
    { width: 1600 },
  ])
    it(`keeps the layout still while the page loads, at ${width} px${late ? `, when ${late} answers late` : ''}`, async () => {
      const { page, baseUrl } = await visit({ as: OWNER, width, alone: true })
      if (late) await page.addInitScript(answerLate, late)
      for (const screen of SCREENS) {
        await page.goto(`${baseUrl}/ven_acme/${screen}`)
        await page.getByRole('heading', { level: 1 }).waitFor()
        await page.waitForLoadState('networkidle')
        const shift = await layoutShift(page)
        assert.ok(shift.sum < LAYOUT_SHIFT, `${screen}: ${shift.sum} by ${shift.moved}`)
      }
    })

  for (const width of [1600, 1200, 860, 390])
    it(`keeps the columns of the clients still when later rows are wider, at ${width} px`, async () => {
      const { page, baseUrl } = await visit({ sessionToken: many.token, width, path: MANY, alone: true })
      for (const view of ['', '?show=all']) {
        await page.goto(baseUrl + MANY + view)
        await page.getByRole('link', { name: 'The oldest client' }).waitFor()
        const shift = await layoutShift(page)
        assert.ok(shift.sum < LAYOUT_SHIFT, `${view}: ${shift.sum} by ${shift.moved}`)
        await assertFits(page)
        assert.deepEqual(await cutOff(page), [])
      }
    })

  it('runs no task longer than 200 ms on a machine four times slower', async () => {
    const { browser } = await testWorkspace()
    const { page, baseUrl } = await visit({ as: OWNER, alone: true })
    async function load(screen: string): Promise<number> {
      await browser.startTracing(page, { categories: ['toplevel', '__metadata'] })
      await page.goto(`${baseUrl}/ven_acme/${screen}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.waitForLoadState('networkidle')
      const longest_ms = longestTask(await browser.stopTracing()) * SLOWER
      assert.ok(longest_ms > 0, screen)
      return longest_ms
    }
    for (const screen of SCREENS) await bestIsWithin(LONGEST_TASK_MS, screen, () => load(screen))
  })
})

const MANY = '/ven_manyclients/integrations/oauth2-clients'

/** A company of 60 clients. The oldest, which are drawn last, have the widest cells. */
async function createManyClients() {
  await using db = connectedDatabase((await testStack()).stores.postgres.ownerUrl)
  const company = await createTestCompany('ven_manyclients', 'Many')
  await db.raw(`
    insert into oauth_clients
      (client_id, vendor_id, name, scopes, secret_hash, created_by, created_at, replaces)
    select 'cli_' || left(md5(n::text), 22), 'ven_manyclients',
      case when n = 60 then 'The oldest client' else repeat('W', n) end,
      case when n < 40 then array['boost:read'] when n < 50 then array['analytics:write']
        else array['catalog:write', 'analytics:read', 'boost:read', 'analytics:write', 'boost:write'] end,
      sha256(n::text::bytea), user_id,
      now() - case when n < 40 then n * interval '1 second' else n * interval '8 days' end,
      case when n = 54 then 'cli_' || left(md5('55'), 22) end
    from generate_series(1, 60) as n, memberships where vendor_id = 'ven_manyclients';
    insert into client_usage select client_id, now() - interval '11 months', now() - interval '11 months' from oauth_clients
      where vendor_id = 'ven_manyclients' and created_at < now() - interval '1 day';
    insert into client_usage_hourly select client_id, date_trunc('hour', now()), 1234567, 0 from oauth_clients
      where vendor_id = 'ven_manyclients' and created_at < now() - interval '1 day'`)
  return company
}

/** Returns the cells, but names, whose content is wider than their column. */
const cutOff = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll('.table :is(thead th, td)')]
      .filter((cell) => cell.scrollWidth > cell.clientWidth && getComputedStyle(cell).position !== 'absolute')
      .map((cell) => `${cell.textContent}: ${cell.scrollWidth} in ${cell.clientWidth}`),
  )

/** What else the machine does only makes a load slower, so the best of a few is the page's own. */
async function bestIsWithin(limit_ms: number, what: string, load: () => Promise<number>): Promise<void> {
  let least_ms = Number.POSITIVE_INFINITY
  for (let loads = 0; loads < LOADS && least_ms > limit_ms; loads++)
    least_ms = Math.min(least_ms, await load())
  assert.ok(least_ms <= limit_ms, `${what}: ${least_ms} ms`)
}

/** A route of Playwright would do it too, but no page has a cache then, and its fonts come late. */
function answerLate(path: string): void {
  const { fetch } = window
  window.fetch = async (input, init) => {
    if (String(input).includes(path)) await new Promise((resolve) => setTimeout(resolve, 300))
    return fetch(input, init)
  }
}

interface TraceEvent {
  name: string
  pid: number
  tid: number
  args: { name?: string }
  /** The thread's CPU time, in microseconds. */
  tdur?: number
}

/** Returns the longest task in ms of CPU time, which other work on the machine hardly changes. */
function longestTask(trace: Buffer): number {
  const { traceEvents } = JSON.parse(trace.toString()) as { traceEvents: TraceEvent[] }
  const isMain = ({ name, args }: TraceEvent) => name === 'thread_name' && args.name === 'CrRendererMain'
  const mains = traceEvents.filter(isMain).map(({ pid, tid }) => `${pid} ${tid}`)
  const durations = traceEvents
    .filter(({ pid, tid }) => mains.includes(`${pid} ${tid}`))
    .map(({ tdur = 0 }) => tdur / 1_000)
  return Math.max(...durations)
}

async function layoutShift(page: Page): Promise<{ sum: number; moved: string }> {
  return page.evaluate(
    () =>
      new Promise((resolve) => {
        type Shift = PerformanceEntry & { value: number; sources: { node: Element | null }[] }
        new PerformanceObserver((list) => {
          const shifts = list.getEntries() as Shift[]
          resolve({
            sum: shifts.reduce((sum, { value }) => sum + value, 0),
            moved: shifts
              .flatMap(({ sources }) => sources.map(({ node }) => node?.className || node?.nodeName))
              .join(', '),
          })
        }).observe({ type: 'layout-shift', buffered: true })
        setTimeout(() => resolve({ sum: 0, moved: '' }), 300)
      }),
  )
}
