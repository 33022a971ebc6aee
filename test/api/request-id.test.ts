import assert from 'node:assert/strict'
import { sharedApi } from '../support/api.ts'

describe('the request id of a trusted proxy', () => {
  const api = sharedApi({ env: { TRUSTED_PROXIES: '127.0.0.1' } })

  it('is that of the answer and the log, which has the caller’s own too', async () => {
    const headers = { 'x-request-id': 'from-the-gateway', 'x-caller-request-id': 'from-the-caller' }
    const response = await api.request('GET', '/v1/session', { headers })
    assert.equal(response.headers.get('x-request-id'), 'from-the-gateway')
    const line = JSON.parse(api.logLines.find((text) => text.includes('"msg":"request"')) as string)
    const ids = { requestId: 'from-the-gateway', callerRequestId: 'from-the-caller' }
    const seen = { route: '/v1/session', status: 401, problem: 'unauthenticated' }
    assert.partialDeepStrictEqual(line, { ...ids, ...seen })
  })

  it('is no field that lets the answer be cached', async () => {
    const sent = { 'x-request-id': 'Cache-Control' }
    const { headers } = await api.request('GET', '/healthz', { headers: sent })
    assert.partialDeepStrictEqual(Object.fromEntries(headers), { ...sent, 'cache-control': 'no-store' })
  })
})
