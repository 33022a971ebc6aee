import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTestClock } from '../support/clock.ts'
import { createTestIssuer, ISSUER, type TestIssuer } from '../support/issuer.ts'
import { createTestPages, type TestPages } from '../support/revocations-page.ts'

const PAGE = join(import.meta.dirname, '../../apps/api/discovery/docs/pages/verify.md')
const TOKEN = { client_id: 'cli_a', jti: 'jti-a' }
const HEADER = { kid: 'key-1' }

interface Example {
  poll(): Promise<void>
  requireLive(header: typeof HEADER, claims: typeof TOKEN): void
}

describe('documentation: the example in Node that reads the revocations page', () => {
  let issuer: TestIssuer
  let pages: TestPages
  let folder: string
  let example: Example
  beforeEach(async () => {
    const clock = createTestClock()
    issuer = await createTestIssuer({ clock })
    pages = await createTestPages({ clock, key: issuer.key })
    const [, text = ''] = /```js revocations\.mjs\n([\s\S]*?)```/.exec(await readFile(PAGE, 'utf8')) ?? []
    const [module = ''] = text.split('\nawait poll()\n')
    // Inside the project, where jose is found.
    folder = await mkdtemp(join(import.meta.dirname, 'example-'))
    const path = join(folder, 'revocations.mjs')
    const filled = module
      .replace('{issuer}/v1/oauth/jwks', issuer.jwksUrl)
      .replace('{issuer}/v1/oauth/revocations', pages.url)
      .replaceAll('{issuer}', ISSUER)
    await writeFile(path, `${filled}\nexport { poll }\n`)
    example = await import(path)
  })
  afterEach(async () => {
    await rm(folder, { recursive: true })
    await Promise.all([pages.stop(), issuer.stop()])
  })

  const requireLive = () => example.requireLive(HEADER, TOKEN)

  it('adds what a page lists that is no later than its copy, as of a server whose clock is behind', async () => {
    await example.poll()
    requireLive()
    pages.page.claims.iat = Math.floor(Date.now() / 1_000) - 5
    pages.page.clients.push(TOKEN.client_id)
    await example.poll()
    assert.throws(requireLive, /401/)
  })

  it('keeps what it knows when an earlier page comes again', async () => {
    pages.page.clients.push(TOKEN.client_id)
    await example.poll()
    pages.page.claims.iat = Math.floor(Date.now() / 1_000) - 5
    pages.page.clients.length = 0
    await example.poll()
    assert.throws(requireLive, /401/)
  })

  for (const age of ['-3600', '3600', '-Infinity', '1, 2'])
    it(`accepts nothing by a page with the Age ${age}`, async () => {
      const page = await pages.signed()
      pages.answer = (response) => void response.writeHead(200, { age }).end(page)
      await example.poll().catch(() => {})
      assert.throws(requireLive, /503/)
    })
})
