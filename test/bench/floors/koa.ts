/* The least Koa that could send the daily read: the same bytes, and 304 when the validator fits. Nothing checked. */
import { readFileSync } from 'node:fs'
import Koa from 'koa'

const { BENCH_BODY_FILE = '', BENCH_ETAG = '', PORT } = process.env
const body = readFileSync(BENCH_BODY_FILE, 'utf8')

const app = new Koa()
app.use((ctx) => {
  ctx.set('ETag', BENCH_ETAG)
  if (ctx.get('If-None-Match') === BENCH_ETAG) {
    ctx.status = 304
    return
  }
  ctx.type = 'application/json'
  ctx.body = body
})
app.listen(Number(PORT), '127.0.0.1')
