import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { startPostgres } from './infra/local/postgres.ts'
import { startRedis } from './infra/local/redis.ts'
import { freePort } from './infra/local/ports.ts'
import { migrate } from './infra/migrate.ts'
import { createPostgres } from './shared/postgres.ts'
import { systemClock } from './shared/clock.ts'
import { silentLog } from './shared/log.ts'
import { listen } from './shared/http.ts'
import { readApiConfig } from './apps/api/config.ts'
import { createService } from './apps/api/service.ts'
import { createHttpServer } from './apps/api/http/server.ts'
import { createTestIssuer, ISSUER, API_RESOURCE } from './test/support/issuer.ts'
import { createTestClock } from './test/support/clock.ts'
import { newClientId, hashSecret } from './shared/ids.ts'
import { insertClient } from './shared/oauth-clients.ts'
const dir = await mkdtemp('/tmp/ingest-bench/pg-')
const pg = await startPostgres({ directory: join(dir, 'pg'), port: await freePort(), password: 'x' })
const passwords = { admin: 'a', auth: 'b', api: 'c' }
const redis = await startRedis({ directory: join(dir, 'redis'), port: await freePort(), passwords } as any)
try {
  await migrate({ ownerUrl: pg.url('postgres'), passwords: { integration_auth: 'a', integration_api: 'b' } })
  const db = createPostgres({ url: pg.url('postgres'), poolSize: 4, applicationName: 'bench' })
  const vendors = ['ven_aaaaaaaaaaaaaaaaaaaaaa', 'ven_bbbbbbbbbbbbbbbbbbbbbb']
  for (const v of vendors) await db.raw(`insert into companies values ('${v}','A','Europe/Berlin','EUR')`)
  const clientId = newClientId()
  await insertClient(db, { clientId, vendorId: vendors[0]!, name: 'x', scopes: ['analytics:write'], secretHash: hashSecret('x'), createdBy: null, createdAt: new Date() } as any)
  const issuer = await createTestIssuer({ clock: createTestClock() })
  const apiUrl = new URL(pg.url('postgres')); apiUrl.username = 'integration_api'; apiUrl.password = 'b'
  const service = createService({ config: readApiConfig({ DATABASE_URL: apiUrl.href, REDIS_URL: redis.url('api'), ISSUER, API_RESOURCE, JWKS_URL: issuer.jwksUrl, RATE_API_PER_CLIENT: '1000000/60' }), clock: systemClock, log: silentLog() })
  await service.start()
  const server = createHttpServer(service.handle)
  const port = await listen(server, { host: '127.0.0.1', port: 0 })
  const token = await issuer.token({ clientId, vendorId: vendors[0]!, scope: 'analytics:write' })
  await db.raw(`create table bare (vendor_id text, event_id text, type text, date date, occurred_at timestamptz, received_at timestamptz, quantity bigint, amount_minor bigint)`)
  const pgmod = (await import('pg')).default
  class Copy {
    cb: any; data: string; text: string; constructor(text: string, data: string, cb: any) { this.text = text; this.data = data; this.cb = cb }
    submit(c: any) { c.query(this.text) }
    handleCopyInResponse(c: any) { c.sendCopyFromChunk(Buffer.from(this.data)); c.endCopyFrom() }
    handleCommandComplete() {} handleReadyForQuery() { this.cb(null) } handleError(e: any) { this.cb(e) } handleRowDescription() {} handleDataRow() {} handlePortalSuspended() {} handleEmptyQuery() {}
  }
  const rows = () => { const now = new Date().toISOString(); return Array.from({ length: 1000 }, (_, i) => { const at = new Date(Date.now() - Math.floor(Math.random() * 71 * 3600e3)).toISOString(); return `${vendors[0]}\t${randomUUID()}\timpression\t${at.slice(0, 10)}\t${at}\t${now}\t1\t${i % 4 > 1 ? 1234 : '\\N'}\n` }).join('') }
  async function copy(conns: number, total: number) {
    const clients = await Promise.all(Array.from({ length: conns }, async () => { const c = new pgmod.Client({ connectionString: pg.url('postgres') }); await c.connect(); return c }))
    const data = Array.from({ length: total }, rows)
    const t = performance.now()
    await Promise.all(clients.map(async (c) => { for (let d = data.pop(); d; d = data.pop()) await new Promise((ok, no) => c.query(new Copy('copy bare from stdin', d!, (e: any) => e ? no(e) : ok(1)) as any)) }))
    const took = (performance.now() - t) / total
    await Promise.all(clients.map((c) => c.end()))
    return took.toFixed(2)
  }
  const client = (conns: number, total: number) => new Promise<string>((ok) => { const p = spawn(process.execPath, ['zz-client.ts', `http://127.0.0.1:${port}/v1/analytics/${vendors[0]}/events`, token, String(conns), String(total)], { stdio: ['ignore', 'pipe', 'inherit'] }); let o = ''; p.stdout.on('data', (d) => o += d); p.on('exit', () => ok(o.trim())) })
  for (let r = 0; r < 4; r++) {
    console.log('copy 1:', await copy(1, 100), ' copy 4:', await copy(4, 100), ' http 1:', await client(1, 60), ' http 2:', await client(2, 100), ' http 4:', await client(4, 100), 'ms per 1000')
    const c = process.cpuUsage(); const w = await client(2, 100); const d = process.cpuUsage(c); console.log('  node cpu per batch', ((d.user + d.system) / 1000 / 105).toFixed(2), 'wall', w)
  }
  server.close(); server.closeAllConnections(); await service.stop(); await issuer.stop(); await db.destroy()
} finally { await redis.stop(); await pg.stop(); await rm(dir, { recursive: true, force: true }) }
