import assert from 'node:assert/strict'
import { BlockList } from 'node:net'
import Koa from 'koa'
import { z } from 'zod'
import { Problem } from '#shared/problems/problems.ts'
import { drain, listen } from '#shared/process/http-server.ts'
import { reference } from '../../apps/api/discovery/docs/reference.ts'
import { createApiDocument } from '../../apps/api/discovery/openapi/document.ts'
import { createProblemMiddleware } from '../../apps/api/http/problem.ts'
import { createRequestMiddleware } from '../../apps/api/http/request.ts'
import { anyone, Json, type Route, route, routerOf } from '../../apps/api/http/route.ts'
import { createHttpServer } from '../../apps/api/http/server.ts'
import type { ApiState } from '../../apps/api/http/state.ts'
import { createAnswerCheck } from '../support/api-document.ts'
import { silentLog } from '../support/log.ts'

const API_RESOURCE = 'https://api.test'
const DEPRECATED = { since: '2027-01-01', until: '2028-01-01', instead: 'Use `GET /v1/new`.' }

const oldRoute = (deprecated?: Route['deprecated']): Route =>
  route({
    method: 'get',
    path: '/v1/old/:name',
    operationId: 'readOld',
    tag: 'Discovery',
    summary: 'Read the old',
    description: 'It was here first.',
    by: anyone,
    ...(deprecated && { deprecated }),
    answers: { 200: { description: 'The old.', schema: z.object({ name: z.string() }) } },
    problems: ['not_found'],
    async handle({ params: { name } }) {
      if (name === 'missing') throw new Problem('not_found', 'Nothing is called so.')
      return name === 'remembered' ? Json.of({ name }) : { name }
    },
  })

const documentOf = (routes: readonly Route[]) =>
  createApiDocument({ routes, issuer: API_RESOURCE, apiResource: API_RESOURCE })

/** Sends one request to an application that has the route alone. */
async function requestOf(route: Route, path: string) {
  const app = new Koa<ApiState>()
  app.use(
    createRequestMiddleware({ log: silentLog(), trustedProxies: new BlockList(), usage: { answered() {} } }),
  )
  app.use(createProblemMiddleware(API_RESOURCE))
  app.use(routerOf([route], API_RESOURCE).routes() as Koa.Middleware<ApiState>)
  const server = createHttpServer(app.callback())
  const port = await listen(server, { host: '127.0.0.1', port: 0 })
  try {
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    return { status: response.status, headers: response.headers, text: await response.text() }
  } finally {
    await drain(server, 1_000)
  }
}

describe('a deprecated route', () => {
  it('names its end in every answer, errors included (RFC 9745, RFC 8594), as the document says', async () => {
    const checkAnswer = createAnswerCheck(documentOf([oldRoute(DEPRECATED)]))
    for (const [name, status] of [
      ['one', 200],
      ['remembered', 200],
      ['missing', 404],
    ] as const) {
      const answer = await requestOf(oldRoute(DEPRECATED), `/v1/old/${name}`)
      const { headers } = answer
      assert.equal(answer.status, status)
      checkAnswer('GET', `/v1/old/${name}`, answer)
      assert.equal(headers.get('deprecation'), `@${Date.UTC(2027, 0, 1) / 1_000}`)
      assert.equal(headers.get('sunset'), 'Sat, 01 Jan 2028 00:00:00 GMT')
      assert.equal(
        headers.get('link'),
        '<https://api.test/docs/versioning>; rel="deprecation sunset"; type="text/html"',
      )
    }
  })

  it('is marked in the OpenAPI document and in the reference, with what to use instead', () => {
    const document = documentOf([oldRoute(DEPRECATED)])
    const operation = document.paths['/v1/old/{name}']?.get
    assert.equal(operation?.deprecated, true)
    const text =
      'Deprecated since 2027-01-01; it may end on 2028-01-01. Use `GET /v1/new`. It was here first.'
    assert.equal(operation?.description, text)
    assert.ok(reference(document, '/docs/errors').includes('Use <code>GET /v1/new</code>.'))
  })

  it('gets a year of notice at least, or the service does not start', () => {
    for (const until of ['2027-12-31', '2026-01-01', 'soon'])
      assert.throws(() => routerOf([oldRoute({ ...DEPRECATED, until })]), /less than a year's notice/)
  })

  it('leaves the others as they are', async () => {
    const { headers } = await requestOf(oldRoute(), '/v1/old/one')
    for (const name of ['deprecation', 'sunset', 'link']) assert.equal(headers.get(name), null)
    const document = documentOf([oldRoute()])
    assert.equal(document.paths['/v1/old/{name}']?.get?.deprecated, undefined)
    assert.equal(document.components.headers.Sunset, undefined)
  })
})
