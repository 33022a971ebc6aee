import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import Koa from 'koa'
import { listen } from '#shared/process/http-server.ts'
import { serveFile } from '../../apps/api/discovery/published.ts'
import type { ApiState } from '../../apps/api/http/state.ts'
import { afterwards } from '../support/block.ts'

describe('a published document', () => {
  it('is tried again after a failure, and read once after that', async () => {
    const contents = [new Error('too many open files'), '# Errors']
    const content = async () => {
      const next = contents.shift() ?? assert.fail('read again')
      if (next instanceof Error) throw next
      return next
    }
    const app = new Koa<ApiState>().use(serveFile({ type: 'text/markdown', content }))
    app.silent = true
    const server = createServer(app.callback())
    await using _ = afterwards(() => server.close())
    const url = `http://127.0.0.1:${await listen(server, { host: '127.0.0.1', port: 0 })}/`
    assert.equal((await fetch(url)).status, 500)
    for (const _ of [1, 2]) assert.equal(await (await fetch(url)).text(), '# Errors')
  })
})
