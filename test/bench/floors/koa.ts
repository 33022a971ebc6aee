/*
 * The least Koa that could send the daily read: the same bytes, and 304 when the validator fits. Nothing checked;
 * busy for a while before each answer, if asked.
 */
import { readFileSync } from 'node:fs'
import Koa from 'koa'

const { BENCH_ANSWERS = '', BENCH_BUSY_US, PORT } = process.env
const BUSY_MS = Number(BENCH_BUSY_US) / 1_000
const answers = new Map<string, { body: string; etag: string }>(
  JSON.parse(readFileSync(BENCH_ANSWERS, 'utf8')),
)

const app = new Koa()
app.use((ctx) => {
  const until_ms = performance.now() + BUSY_MS
  while (performance.now() < until_ms);
  const answer = answers.get(ctx.url)
  if (!answer) return
  ctx.set('ETag', answer.etag)
  if (ctx.get('If-None-Match') === answer.etag) {
    ctx.status = 304
    return
  }
  ctx.type = 'application/json'
  ctx.body = answer.body
})
app.listen(Number(PORT), '127.0.0.1')
process.once('disconnect', () => process.exit())
