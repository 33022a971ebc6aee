import { within } from '#shared/process/within.ts'
import type { Round } from '#shared/revocation/reconcile.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { createRouter } from './http/routes.ts'
import type { ApiRouter } from './http/state.ts'

const CHECK_DEADLINE_MS = 2_000
const DEGRADED: Partial<Record<Round['outcome'], string>> = { clocks_apart: 'clocks', failed: 'redis' }

export interface HealthDependencies {
  db: Database
  /** Whether access tokens can be verified. */
  keysUsable: () => boolean
  /** The latest round of revocation; undefined before the first. */
  latestRound: () => Round | undefined
  /** Whether the process is about to end. */
  draining: () => boolean
}

/**
 * `/healthz`: the process runs. `/readyz`: a request could be served, so there are keys and Postgres answers.
 * Redis is not asked: without it everything still works, only slower. Then `degraded` names `redis`, or `clocks` when
 * the wall clocks of Postgres, Redis and this process differ by more than two minutes.
 */
export function createHealthRoutes({ db, keysUsable, latestRound, draining }: HealthDependencies): ApiRouter {
  let asking: Promise<boolean> | undefined

  function postgresAnswers(): Promise<boolean> {
    asking ??= within(CHECK_DEADLINE_MS, db.raw('select 1'))
      .then(
        (answer) => answer !== undefined,
        () => false,
      )
      .finally(() => {
        asking = undefined
      })
    return asking
  }

  return createRouter()
    .get('/healthz', (ctx) => {
      ctx.body = { status: 'ok' }
    })
    .get('/readyz', async (ctx) => {
      const waitingFor = [
        ...(draining() ? ['end'] : []),
        ...(keysUsable() ? [] : ['signing keys']),
        ...((await postgresAnswers()) ? [] : ['postgres']),
      ]
      ctx.status = waitingFor.length === 0 ? 200 : 503
      const degraded = DEGRADED[latestRound()?.outcome ?? 'fresh']
      ctx.body =
        waitingFor.length === 0
          ? { status: 'ready', ...(degraded && { degraded: [degraded] }) }
          : { status: 'not ready', waitingFor }
    })
}
