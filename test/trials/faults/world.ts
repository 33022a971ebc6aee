import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import knex, { type Knex } from 'knex'
import { insertUser, saveMembership } from '#shared/accounts/people.ts'
import { hashSecret } from '#shared/oauth/ids.ts'
import { newSessionToken, newUserId } from '#shared/oauth/new-ids.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { startSession } from '../../../apps/api/sessions/sessions.ts'
import { migrate } from '../../../infra/database/migrate.ts'
import { createClient, type TestClient } from '../../support/auth.ts'
import { letPostgresClockMove } from '../../support/database.ts'
import { eventually } from '../../support/eventually.ts'
import { asAdmin, dump } from '../../support/revocation.ts'
import { createTestRedis, PASSWORDS } from '../../support/servers.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { createOutside } from './outside.ts'
import { createPostgresServer } from './postgres-server.ts'
import { createSite, type ServiceSite } from './site.ts'

const RESTART_DEADLINE_MS = 120_000
/** Every process has had a tick or two to see the marker. */
const TICKS_MS = 1_500

export type World = Awaited<ReturnType<typeof createWorld>>

/** Postgres, Redis, and two processes of each service, which reach the stores by proxies of their own. */
export async function createWorld() {
  const folder = await temporaryFolder('integration-access-faults')
  const closing: (() => unknown)[] = [() => rm(folder, { recursive: true, force: true, maxRetries: 10 })]
  const stop = async () => {
    for (const close of closing.reverse()) await close()
  }
  try {
    const postgres = await createPostgresServer(folder)
    closing.push(() => postgres.close())
    const redis = await createTestRedis(folder)
    closing.push(() => redis.stop('SIGKILL'))
    const ownerUrl = postgres.url
    await migrate({ ownerUrl, passwords: PASSWORDS })
    const db = knex({ client: 'pg', connection: ownerUrl, pool: { min: 0, max: 3 } })
    closing.push(() => db.destroy())
    await letPostgresClockMove(db)
    const outside = await createOutside()
    closing.push(() => outside.close())
    const stores = {
      ownerUrl,
      redis,
      encryptionKey: randomBytes(32),
      passwords: PASSWORDS,
      baseUrl: outside.baseUrl,
    }
    const sites: ServiceSite[] = []
    closing.push(() => Promise.all(sites.map((site) => site.close())))
    for (const service of ['auth', 'api'] as const)
      for (const number of [1, 2])
        sites.push(await createSite({ service, number, ...stores, jwksFrom: sites[number - 1] }))
    const untilTrusted = async (limit_ms: number) => {
      const marker = () => asAdmin(redis, (admin) => admin.get(redisKeys.revocationMarker)).catch(() => null)
      await eventually(async () => (await marker()) !== null, {
        limit_ms,
        otherwise: () => `Redis is not trusted after ${limit_ms} ms`,
      })
      await sleep(TICKS_MS)
    }
    await untilTrusted(RESTART_DEADLINE_MS)
    const auth = sites.slice(0, 2)
    await outside.start(auth)
    return {
      /** The owner's connection, past the proxies: to arrange what no route does, and to look. */
      db,
      ownerUrl,
      postgres,
      redis,
      /** A dump of Redis from the beginning, with a marker in it. */
      oldDump: await dump(redis),
      auth,
      api: sites.slice(2),
      /** All of ours. */
      sites,
      outside,
      /** Resolves once Redis decides about revocations again. */
      untilTrusted,
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

export type ClientSecret = Pick<TestClient, 'clientId' | 'clientSecret'>
export type Company = Awaited<ReturnType<typeof createCompany>>

/** A company, its owner's session, and a client that nobody revokes. */
export async function createCompany(db: Knex) {
  const client = await createClient(db, { scopes: ['analytics:read', 'analytics:write'] })
  const { vendorId } = client
  const [userId, sessionToken] = [newUserId(), newSessionToken()]
  const email = `${userId}@people.example`
  await insertUser(db, { userId, name: 'Owner', email, passwordHash: '$argon2id$none' })
  await saveMembership(db, { vendorId, userId, role: 'owner', status: 'active' })
  await startSession(db, { tokenHash: hashSecret(sessionToken), userId, now: new Date() })
  return { vendorId, sessionToken, client }
}
