import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterwards, forBlock } from '../../support/block.ts'
import { RULES } from './documents.ts'
import { type CureSite, startCureSite } from './site.ts'

/*
 * Follows the cures in infra/runbook/failures.md for real. Takes 7 to 13 minutes on two cores: three for the
 * cases, then rates of the last five or ten minutes run out. Commands and statements are those that the page
 * prints. Needs root, for a small disk, and Prometheus (apt-get install prometheus jq). A wrong clock, a busy
 * CPU, DNS and the internet have stand-ins.
 */

export interface Cure {
  /** The alerts that it makes true. */
  alerts?: string[]
  /** How the rows of "When something fails" begin that it causes. */
  rows?: string[]
  /** Causes it. Resolves with what an operator then does about it, as failures.md says. */
  cause(site: CureSite): Promise<() => Promise<unknown>>
}

/** Windows of up to ten minutes are waited for. Of a longer one, the samples since the cure decide. */
const WAITED_MAX_S = 600
/** Prometheus has scraped every instance several times. */
const SCRAPED_MS = 15_000
/** For a busy machine. */
const MARGIN_MS = 180_000

const findExpression = (alert: string): string =>
  RULES.get(alert) ?? assert.fail(`alerts.yaml has no ${alert}`)

/** Returns the seconds that the rates of an alert look back; 0 if it has none. */
function windowOf_s(alert: string): number {
  const [, count = '0', unit] = /\[(\d+)([mh])\]/.exec(findExpression(alert)) ?? []
  return Number(count) * (unit === 'h' ? 3_600 : 60)
}

/**
 * Each is caused, seen, cured as printed, and seen to end, one after another at a site of their own. The
 * alerts over a window are seen to end after all others, since their windows pass together.
 */
export function describeCures(title: string, cures: readonly Cure[]): void {
  describe(title, () => {
    const site = forBlock(startCureSite)
    const cured = new Set<string>()
    // A counter that is first read after it rose seems never to have risen.
    before(() => site.until(`count(up == 1) == ${Object.values(site.targets).flat().length}`, true))

    const untilFalse = (alert: string, later_s = 0) =>
      site.until(findExpression(alert), false, { later_s, limit_ms: windowOf_s(alert) * 1_000 + MARGIN_MS })
    async function untilOver(alert: string): Promise<void> {
      if (!cured.has(alert)) throw new Error(`${alert} was never cured`)
      const window_s = windowOf_s(alert)
      const isWaited = window_s <= WAITED_MAX_S
      if (!isWaited) await sleep(SCRAPED_MS)
      await untilFalse(alert, isWaited ? 0 : window_s)
    }

    for (const { alerts = [], rows = [], cause } of cures)
      it([...alerts, ...rows].join(', '), async () => {
        for (const alert of alerts) await untilFalse(alert)
        {
          // Also if an alert stays false: the next test would wait for this one's lock.
          await using _ = afterwards(await cause(site))
          for (const alert of alerts) await site.until(findExpression(alert), true)
        }
        for (const alert of alerts) {
          cured.add(alert)
          if (windowOf_s(alert) === 0) await untilOver(alert)
        }
      })

    const lasting = cures.flatMap(({ alerts = [] }) => alerts).filter((alert) => windowOf_s(alert) > 0)
    for (const alert of lasting) it(`${alert} ends with its window`, () => untilOver(alert))
  })
}
