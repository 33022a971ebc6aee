import { resolve } from 'node:path'
import { z } from 'zod'
import {
  keyEncryptionKey,
  RATE_REDIS_PROTOCOLS,
  REDIS_PROTOCOLS,
  readConfig,
  storeUrl,
} from '#shared/process/config.ts'
import { createRevocation } from '#shared/revocation/revocation.ts'
import { createPostgres, type Database } from '#shared/stores/postgres.ts'
import {
  createRedis,
  createRedisOrCluster,
  type RedisOrCluster,
  type RedisParts,
} from '#shared/stores/redis.ts'
import type { OperatorActor } from '../../apps/api/accounts/activity.ts'
import { omitStatements } from '../database/error-messages.ts'
import { MIGRATE_SHAPE } from '../database/migrate-settings.ts'
import { type RunningStack, readRunningStack } from '../running-stack.ts'
import { osUser } from './trail.ts'

/* How commands reach the stores and the keys, and the error that ends one with a sentence. */

/** An operator's command failed. `message` is a sentence that says why. */
export class OperatorError extends Error {}

/** How to reach the stores, from the environment or from the local stack that runs on this machine. */
interface OperatorStores {
  databaseUrl: string
  redisUrl: string | undefined
  /** The Redis for refused and latest requests, which may be the same. */
  usageRedisUrl?: string | undefined
  /** Reads the key from where it is set. Resolves with undefined if there is none. */
  keyEncryptionKey(): Promise<Buffer[] | undefined>
  /** The audit trail of the local stack. */
  auditFile?: string
}

const redisSchema = storeUrl(REDIS_PROTOCOLS).optional()

const DATA_DIR = z
  .string()
  .default('.data')
  .meta({ description: 'data folder of the local stack, used if DATABASE_URL is not set' })

const STORES_SHAPE = {
  DATABASE_URL: storeUrl(['postgres:', 'postgresql:']).optional().meta({
    secret: true,
    fallback: 'the local stack',
    description: 'the database, as `integration_operator`',
  }),
  REDIS_URL: redisSchema.meta({
    secret: true,
    fallback: 'the local stack',
    description: 'needed to revoke; a user with the rights of `api`',
  }),
  REVOCATION_REDIS_URL: redisSchema.meta({
    secret: true,
    fallback: '`REDIS_URL`',
    description: 'separate server for revocations, if there is one',
  }),
  RATE_REDIS_URL: storeUrl(RATE_REDIS_PROTOCOLS).optional().meta({
    secret: true,
    fallback: '`REDIS_URL`',
    description:
      'separate server or cluster for rates and requests, if there is one; needed by `company erase`',
  }),
  DATA_DIR,
}

/** Read only by a command that needs the key, so that the others run where the key is out of reach. */
const KEY_SHAPE = {
  KEY_ENCRYPTION_KEY: keyEncryptionKey.optional().meta({
    secret: true,
    fallback: 'the local stack',
    description:
      'the same value as for the authorization server; read only by `key rotate` and `key reencrypt`',
  }),
}

/** The settings of `npm run admin`. */
export const OPERATOR_SHAPE = { ...STORES_SHAPE, ...KEY_SHAPE }

/** Longer than a service's, since no request waits for a command. */
const CONNECT_TIMEOUT_MS = 10_000
const STATEMENT_TIMEOUT_MS = 30_000
/** A partition of events has no index on vendor_id, so a batch of an erasure may read all of it. */
const BATCH_TIMEOUT_MS = 10 * 60_000

/**
 * Returns DATABASE_URL, REDIS_URL (REVOCATION_REDIS_URL takes precedence) and a reader of KEY_ENCRYPTION_KEY
 * from the environment. Without DATABASE_URL, returns those of the local stack that runs on DATA_DIR.
 * @throws OperatorError if there is neither, or ConfigError if a variable is invalid.
 */
export async function operatorStores(env: NodeJS.ProcessEnv): Promise<OperatorStores> {
  const settings = readConfig(env, STORES_SHAPE)
  if (settings.DATABASE_URL !== undefined) {
    return {
      databaseUrl: settings.DATABASE_URL,
      redisUrl: settings.REVOCATION_REDIS_URL ?? settings.REDIS_URL,
      usageRedisUrl: settings.RATE_REDIS_URL ?? settings.REDIS_URL ?? settings.REVOCATION_REDIS_URL,
      keyEncryptionKey: async () => readConfig(env, KEY_SHAPE).KEY_ENCRYPTION_KEY,
    }
  }
  const stack = await localStack(resolve(settings.DATA_DIR))
  return {
    databaseUrl: stack.databaseUrl,
    redisUrl: settings.REVOCATION_REDIS_URL ?? stack.redisUrl,
    usageRedisUrl: settings.RATE_REDIS_URL ?? stack.redisUrl,
    keyEncryptionKey: async () => keyEncryptionKey.parse(stack.keyEncryptionKey),
    auditFile: stack.auditFile,
  }
}

/**
 * Returns the URL of the database as the owner of its tables: DATABASE_URL, or that of the local stack that
 * runs on DATA_DIR. Only a migration needs it.
 * @throws OperatorError if there is neither, or ConfigError if a variable is invalid.
 */
export async function ownerDatabaseUrl(env: NodeJS.ProcessEnv): Promise<string> {
  const settings = readConfig(env, { DATABASE_URL: MIGRATE_SHAPE.DATABASE_URL, DATA_DIR })
  return settings.DATABASE_URL ?? (await localStack(resolve(settings.DATA_DIR))).ownerUrl
}

async function localStack(dataDir: string): Promise<RunningStack> {
  const stack = await readRunningStack(dataDir)
  if (stack) return stack
  throw new OperatorError(`No local stack runs on ${dataDir}: start it with npm start, or set DATABASE_URL.`)
}

/** What an operator's command works with. */
export type OperatorAccess = ReturnType<typeof openOperatorAccess>

/** Opens a pool to Postgres, which connects when first used. Does not connect to Redis until asked. */
export function openOperatorAccess(
  { databaseUrl, redisUrl, usageRedisUrl, keyEncryptionKey }: OperatorStores,
  {
    name = osUser(),
    activityLog = () => {},
  }: { name?: string | undefined; activityLog?: (entry: object) => void } = {},
) {
  const closing: (() => unknown)[] = []
  function open(poolSize: number, statementTimeout_ms: number): Database {
    const timeouts = { connectTimeout_ms: CONNECT_TIMEOUT_MS, statementTimeout_ms }
    const name = { applicationName: 'integration-admin', activityLog }
    const db = createPostgres({ url: databaseUrl, poolSize, ...timeouts, ...name })
    omitStatements(db)
    closing.push(() => db.destroy())
    return db
  }
  const db = open(2, STATEMENT_TIMEOUT_MS)
  function connect<R extends RedisOrCluster>(url: string | undefined, create: (parts: RedisParts) => R): R {
    if (url === undefined)
      throw new OperatorError('Set REDIS_URL too: a revocation must reach every process.')
    const redis = create({ url, connectionName: 'integration-admin' })
    closing.push(() => redis.disconnect())
    return redis
  }
  const by: OperatorActor = { name }
  return {
    db,
    /** The same database, for batches of an erasure. */
    batchDb: open(1, BATCH_TIMEOUT_MS),
    /** The operator named in the activity. */
    by,
    /** The Redis for revocations, which may still be connecting. @throws OperatorError without REDIS_URL. */
    redis: () => connect(redisUrl, createRedis),
    /** The Redis for refusals, which may still be connecting. @throws OperatorError without REDIS_URL. */
    usageRedis: () => connect(usageRedisUrl, createRedisOrCluster),
    /** @throws OperatorError without REDIS_URL. */
    revocation: () => createRevocation({ redis: connect(redisUrl, createRedis), db }),
    /** Rejects with OperatorError without KEY_ENCRYPTION_KEY, and with ConfigError if it is invalid. */
    async encryptionKey(): Promise<Buffer[]> {
      const keys = await keyEncryptionKey()
      if (keys) return keys
      throw new OperatorError(
        'Set KEY_ENCRYPTION_KEY too (or KEY_ENCRYPTION_KEY_FILE), to the value that the authorization ' +
          'server uses. It encrypts the new key.',
      )
    },
    async close(): Promise<void> {
      await Promise.all(closing.map((close) => close()))
    },
  }
}
