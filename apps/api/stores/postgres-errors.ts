import '#shared/process/environment.ts'
import pg from 'pg'
import { READ_ONLY } from '#shared/stores/postgres.ts'

/** The SQLSTATE of a Postgres error, such as `23505`; undefined for any other error. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined
}

export const UNIQUE_VIOLATION = '23505'
export const LOCK_NOT_AVAILABLE = '55P03'

/**
 * SQLSTATE classes: connection exception, login refused, no such database, insufficient resources, operator
 * intervention, system error.
 */
const UNAVAILABLE_CLASSES = ['08', '28', '3D', '53', '57', '58']
/**
 * No writes; serialization failure, deadlock, lock not available; the database takes no connections
 * (object_not_in_prerequisite_state).
 */
const UNAVAILABLE_STATES = [READ_ONLY, '40001', '40P01', LOCK_NOT_AVAILABLE, '55000']
const NETWORK_CODES = [
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EPIPE',
  'ETIMEDOUT',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
  'ERR_SOCKET_CLOSED',
]
/**
 * What pg, knex and its pool say, without a code, when the server does not answer or goes away. Knex puts the
 * statement and a dash in front.
 */
const UNAVAILABLE_MESSAGES =
  /^(?:.* - )?(Connection terminated|timeout expired$|Client has encountered a connection error|Client was closed|Knex: Timeout acquiring a connection|aborted$)/s

/** Whether a query failed because the server is gone, too slow or failing over, not because of the query. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const state = sqlState(error)
  if (state !== undefined) {
    return UNAVAILABLE_CLASSES.includes(state.slice(0, 2)) || UNAVAILABLE_STATES.includes(state)
  }
  const { code, errors } = error as { code?: unknown; errors?: unknown[] }
  if (typeof code === 'string' && NETWORK_CODES.includes(code)) return true
  if (Array.isArray(errors)) return errors.some(isUnavailable)
  return UNAVAILABLE_MESSAGES.test(error.message)
}
