import { type Metrics, measureReadiness } from '#shared/process/metrics.ts'
import { VERSION } from '#shared/process/version.ts'
import { within } from '#shared/process/within.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { createRouter } from './http/router.ts'
import type { ApiMiddleware, ApiRouter } from './http/state.ts'
import { readDatabaseState, type SchemaState } from './revocation/database-state.ts'

const CHECK_DEADLINE_MS = 2_000

export interface HealthDependencies {
  db: Database
  /** Whether access tokens can be verified. */
  keysUsable: () => boolean
  /** Whether this process's clock can judge when a token expires. */
  isClockRight: () => boolean
  /** Whether the process is about to end, so that it should get no more requests. */
  draining: () => boolean
  /** Returns the dependencies that are down or untrusted, such as `redis` or `clocks`. */
  degraded: () => string[]
  metrics: Metrics
}

interface DatabaseState {
  schema: SchemaState | 'silent'
  isReadOnly: boolean
}

const SILENT: DatabaseState = { schema: 'silent', isReadOnly: false }

/** What /readyz reports as missing, by the state of the database. */
const DATABASE_WAITS: Record<DatabaseState['schema'], string[]> = {
  usable: [],
  missing: ['migrations'],
  newer: ['a newer version of this service: the database was made for it'],
  fenced: ['an operator: the database was restored'],
  moved: ['the comparison of the database with Redis: see the log of the API'],
  silent: ['postgres'],
}

/**
 * `/healthz`: the process runs. `/readyz`: a request could be served, so there are keys, and Postgres answers
 * and has the tables that this version needs. Redis is not required: without it everything still works, only
 * slower.
 */
export function createHealthRoutes(dependencies: HealthDependencies): ApiRouter {
  const { db, keysUsable, isClockRight, draining, degraded, metrics } = dependencies
  let pendingCheck: Promise<DatabaseState> | undefined

  function databaseState(): Promise<DatabaseState> {
    pendingCheck ??= within(CHECK_DEADLINE_MS, readDatabaseState(db))
      .then(
        (state) => state ?? SILENT,
        () => SILENT,
      )
      .finally(() => {
        pendingCheck = undefined
      })
    return pendingCheck
  }

  async function health() {
    const { schema, isReadOnly } = await databaseState()
    return {
      waitingFor: [
        ...(draining() ? ['end'] : []),
        ...(keysUsable() ? [] : ['signing keys']),
        ...(isClockRight() ? [] : ['clock']),
        ...DATABASE_WAITS[schema],
      ],
      degraded: [...degraded(), ...(isReadOnly ? ['read-only'] : [])],
    }
  }

  const getHealth: ApiMiddleware = (ctx) => {
    ctx.body = { status: 'ok', version: VERSION }
  }

  const getReadiness: ApiMiddleware = async (ctx) => {
    const { waitingFor, degraded: missing } = await health()
    const ready = waitingFor.length === 0
    ctx.status = ready ? 200 : 503
    ctx.body = ready
      ? { status: 'ready', ...(missing.length > 0 && { degraded: missing }) }
      : { status: 'not ready', waitingFor }
  }

  measureReadiness(metrics, health)
  const help = '1 while an operator has to confirm that the database is complete'
  metrics.gauge('integration_fenced', { help, over: 'max' }, async (set) => {
    const { schema } = await databaseState()
    if (schema !== 'silent') set(schema === 'fenced' ? 1 : 0)
  })
  return createRouter([
    { method: 'get', path: '/healthz', handler: getHealth },
    { method: 'get', path: '/readyz', handler: getReadiness },
  ])
}
