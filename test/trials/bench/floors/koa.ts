/*
 * The least Koa that could send the daily read: the same bytes after one command to Redis and one statement to
 * Postgres, which all requests of a turn of the event loop share. Nothing is checked, limited or logged.
 */
import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import Koa from 'koa'
import pg from 'pg'
import { sharedPerTurn } from './turn.ts'

const { BENCH_ANSWERS = '', BENCH_DATABASE_URL = '', BENCH_REDIS_URL = '', PORT } = process.env
const answers = new Map<string, { body: string; etag: string }>(
  JSON.parse(readFileSync(BENCH_ANSWERS, 'utf8')),
)
const redis = new Redis(BENCH_REDIS_URL)
const db = new pg.Pool({ connectionString: BENCH_DATABASE_URL })
const COMPANIES = {
  name: 'companies',
  text: 'select vendor_id, timezone from companies where vendor_id = any($1)',
}

/** Asks both stores. */
const asked = sharedPerTurn((vendorIds) =>
  Promise.all([
    redis.mget(vendorIds.map((id) => `bench:${id}`)),
    db.query({ ...COMPANIES, values: [vendorIds] }),
  ]),
)

const app = new Koa()
app.use(async (ctx) => {
  const answer = answers.get(ctx.url)
  if (!answer) return
  await asked(ctx.path.split('/')[3] ?? '')
  ctx.set('ETag', answer.etag)
  ctx.type = 'application/json'
  ctx.body = answer.body
})
app.listen(Number(PORT), '127.0.0.1')
process.once('disconnect', () => process.exit())
