import { within } from '#shared/process/within.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { createRouter } from './http/routes.ts'
import type { ApiRouter } from './http/state.ts'

const CHECK_DEADLINE_MS = 2_000

export interface HealthDependencies {
  db: Database
  /** Whether access tokens can be verified. */
  keysUsable: () => boolean
  /** Whether the process is about to end. */
  draining: () => boolean
}

/**
 * `/healthz`: the process runs. `/readyz`: a request could be served, so there are keys and Postgres answers.
 * Redis is not asked: without it everything still works, only slower.
 */
export function createHealthRoutes({ db, keysUsable, draining }: HealthDependencies): ApiRouter {
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
      ctx.body = waitingFor.length === 0 ? { status: 'ready' } : { status: 'not ready', waitingFor }
    })
}
