import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { BlockList } from 'node:net'
import { mock } from 'node:test'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import Koa from 'koa'
import { createContextReader } from '#shared/http/request-context.ts'
import { listen } from '#shared/process/http-server.ts'
import { createDeadlineMiddleware } from '../../apps/api/http/deadline.ts'
import { createProblemMiddleware } from '../../apps/api/http/problem.ts'
import { createRequestMiddleware } from '../../apps/api/http/request.ts'
import { createRouter } from '../../apps/api/http/router.ts'
import type { ApiMiddleware, ApiState } from '../../apps/api/http/state.ts'
import { afterwards } from '../support/block.ts'
import { silentLog } from '../support/log.ts'

const DEADLINE_MS = 200

describe('a request that takes longer than the deadline', () => {
  const done: string[] = []
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const get = (path: string, handler: ApiMiddleware) => ({ method: 'get' as const, path, handler })
  const patient = get('/patient/:id', async (ctx) => {
    await sleep(2 * DEADLINE_MS)
    ctx.body = 'in its own time'
  })
  const router = createRouter([
    get('/slow/:id', async (ctx) => {
      await released
      done.push('slow')
      ctx.res.setHeader('X-Late', 'yes')
      ctx.body = 'late'
    }),
    { ...patient, deadline: 'own' },
    get('/failing', () => Promise.reject(new Error('at once'))),
  ])
  const app = new Koa<ApiState>()
  const proxies = { TRUSTED_PROXIES: new BlockList(), TRUSTED_PROXY_HEADER: 'Forwarded' } as const
  app.use(createRequestMiddleware(silentLog(), createContextReader(proxies, silentLog()), () => {}))
  app.use(createProblemMiddleware('https://api.test'))
  app.use(createDeadlineMiddleware(DEADLINE_MS, 5 * DEADLINE_MS) as Koa.Middleware<ApiState>)
  app.use(router.routes() as Koa.Middleware<ApiState>)
  const server = createServer(app.callback())
  let url: string

  before(async () => {
    url = `http://127.0.0.1:${await listen(server, { host: '127.0.0.1', port: 0 })}`
  })
  after(() => server.close())

  it('answers 503 with Retry-After after the deadline, and what the request does later harms no one', async () => {
    const answer = await fetch(`${url}/slow/1`)
    release()
    assert.equal(answer.status, 503)
    assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/)
    assert.equal(((await answer.json()) as { code: string }).code, 'unavailable')
    while (!done.includes('slow')) await sleep(10)
    assert.equal((await fetch(`${url}/patient/1`)).status, 200)
  })

  it('continues past the deadline where the route has its own', async () =>
    assert.equal(await (await fetch(`${url}/patient/1`)).text(), 'in its own time'))

  it('answers 503 after that one too, which begins with the request', async () => {
    mock.timers.enable({ apis: ['setTimeout'] })
    await using _ = afterwards(() => mock.timers.reset())
    const context = { state: { route: { deadline: 'own' } } }
    const middleware = createDeadlineMiddleware(8_000, 25_000)
    const outcome = middleware(context as never, () => new Promise(() => {})).catch(
      (error: { code?: string }) => error.code,
    )
    mock.timers.tick(8_000)
    await nextTurn()
    mock.timers.tick(17_000)
    assert.equal(await Promise.race([outcome, nextTurn()]), 'unavailable')
  })

  it('does not hide the failure of a slow request', async () =>
    assert.equal((await fetch(`${url}/failing`)).status, 500))
})
