import { VERSION } from '#shared/process/version.ts'
import { within } from '#shared/process/within.ts'
import type { Round } from '#shared/revocation/reconcile.ts'
import { type SchemaState, schemaState } from '#shared/stores/database-checks.ts'
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
  /** The stores that are refused or gone, and done without. */
  degraded: () => string[]
}

/** What /readyz waits for, by what is known of the database. */
const DATABASE_WAITS: Record<SchemaState | 'silent', string[]> = {
  usable: [],
  missing: ['migrations'],
  newer: ['a newer version of this service: the database was made for it'],
  silent: ['postgres'],
}

/**
/**
 * `/healthz`: the process runs. `/readyz`: a request could be served, so there are keys, and Postgres answers and has
 * the tables that this version needs. Redis is not waited for: without it everything still works, only slower. Then
 * `degraded` names `redis`, or `clocks` when the wall clocks of Postgres, Redis and this process differ by more than
 * two minutes.
 */
export function createHealthRoutes(dependencies: HealthDependencies): ApiRouter {
  const { db, keysUsable, latestRound, draining, degraded } = dependencies
  let asking: Promise<SchemaState | 'silent'> | undefined

  function databaseState(): Promise<SchemaState | 'silent'> {
    asking ??= within(CHECK_DEADLINE_MS, schemaState(db))
      .then(
        (state) => state ?? 'silent',
        () => 'silent' as const,
      )
      .finally(() => {
        asking = undefined
      })
    return asking
  }

  return createRouter()
    .get('/healthz', (ctx) => {
      ctx.body = { status: 'ok', version: VERSION }
    })
    .get('/readyz', async (ctx) => {
      const waitingFor = [
        ...(draining() ? ['end'] : []),
        ...(keysUsable() ? [] : ['signing keys']),
        ...DATABASE_WAITS[await databaseState()],
      ]
      const ofRound = DEGRADED[latestRound()?.outcome ?? 'fresh']
      const without = [...new Set([...degraded(), ...(ofRound ? [ofRound] : [])])]
      const worse = without.length === 0 ? {} : { degraded: without }
      ctx.status = waitingFor.length === 0 ? 200 : 503
      ctx.body = waitingFor.length === 0 ? { status: 'ready', ...worse } : { status: 'not ready', waitingFor }
    })
}
