import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { delimiter, dirname, join } from 'node:path'
import { exampleRequest, testEventPayload } from '../../apps/workspace/src/webhooks/test-event.ts'
import { JWT_BEARER } from '../support/assertions.ts'
import { afterwards } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'
import { sharedFolder } from '../support/folder.ts'
import { freePort } from '../support/ports.ts'
import { run } from '../support/program.ts'
import { EVERYTHING } from '../support/tier.ts'
import { api, createClient, OWNER, requestToken, revokeClient, testStack } from '../support/workspace.ts'

const ROOT = join(import.meta.dirname, '../..')
const DEADLINE_MS = 60_000
const ENV = { ...process.env, PATH: dirname(process.execPath) + delimiter + process.env.PATH }

const TOOLS: Record<string, { name: string; try: readonly [string, ...string[]] }> = {
  sh: { name: 'curl', try: ['curl', '--version'] },
  js: { name: 'Node', try: ['node', '--version'] },
  py: { name: 'Python', try: ['python3', '--version'] },
  go: { name: 'Go', try: ['go', 'version'] },
  java: { name: 'Java', try: ['javac', '-version'] },
}
/** What the examples of /docs/verify-node and /docs/verify-python also need. */
const LIBRARIES: Record<string, { name: string; page: string; try: readonly [string, ...string[]] }> = {
  js: { name: 'jose', page: '/docs/verify-node', try: ['node', '--version'] },
  py: {
    name: 'PyJWT 2.15',
    page: '/docs/verify-python',
    try: ['python3', '-c', 'import jwt; jwt.PyJWKClient("http://localhost", cooldown_duration=10)'],
  },
}
/** With which /docs/private-key makes a key. */
const OPENSSL = { name: 'OpenSSL', try: ['openssl', 'version'] } as const
const works = ([tool, ...args]: readonly [string, ...string[]]) =>
  spawnSync(tool, args, { env: ENV }).status === 0
/** `npm test` needs none of the others. */
const has = Object.fromEntries(
  Object.entries(TOOLS).map(([name, it]) => [name, (EVERYTHING || /sh|js/.test(name)) && works(it.try)]),
)

/** What each page's examples print. */
const PRINTED: Record<string, RegExp> = {
  '/docs': /^\{"vendorId":"ven_acme",.*"days":\[/,
  '/docs/token':
    /^HTTP\/1.1 200 OK\r\n[\s\S]*\{"access_token":"ey[\w.-]+","token_type":"Bearer","expires_in":900,/,
  '/docs/analytics': /^200\n304\n/,
  '/docs/events': /^\{"accepted": ?[14], ?"duplicates": ?0\}\n?$/,
  '/docs/rate-limits': /^200\n$/,
  '/docs/revocation': /^200\n$/,
}

/** Each language's file that caches the token, and what /docs/private-key changes in it to sign. */
const SIGNING: Record<string, { file: string; changes: [before: RegExp, after: string][] }> = {
  js: {
    file: 'access-token.mjs',
    changes: [
      [/^/, "import { assertion } from './assertion.mjs'\n"],
      [/client_secret: .*/, `client_assertion_type: '${JWT_BEARER}', client_assertion: assertion(),`],
    ],
  },
  py: {
    file: 'access_token.py',
    changes: [
      [/^/, 'from assertion import assertion\n'],
      [/"client_secret": .*/, `"client_assertion_type": "${JWT_BEARER}", "client_assertion": assertion(),`],
    ],
  },
}

interface Block {
  /** The language of the fence. `console`, `json` and others are no examples. */
  language: string
  caption: string
  text: string
}

/** Every fenced block of a page, as a person copies it. */
async function readBlocks(path: string): Promise<Block[]> {
  const html = await (await fetch((await testStack()).baseUrl + path)).text()
  const figures = html.matchAll(
    /<figure class="code" data-kind="(\w+)"><figcaption>([^<]+)<\/figcaption><pre[^>]*><code>([\s\S]*?)<\/code>/g,
  )
  return [...figures].map(([, language = '', caption = '', code = '']) => ({
    language,
    caption,
    text: unescaped(code),
  }))
}

const ENTITIES: Record<string, string> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&amp;': '&',
}
const unescaped = (html: string) =>
  html.replaceAll(/&(?:lt|gt|quot|#39|amp);/g, (entity) => ENTITIES[entity] ?? '')

/** The first line of a program says how to run it. */
const findCommand = ({ text }: Block): string | undefined =>
  /^(?:\/\/|#) (.+)$/m.exec(text.split('\n')[0] ?? '')?.[1]

describe('documentation: the examples, as they are printed', () => {
  const folder = sharedFolder()
  let client: { clientId: string; clientSecret: string }
  const pages = new Map<string, Block[]>()

  before(async () => {
    const others = 'private-key verify-node verify-python webhooks errors'.split(' ')
    const paths = [...Object.keys(PRINTED), ...others.map((topic) => `/docs/${topic}`)]
    for (const path of paths) pages.set(path, await readBlocks(path))
    client = await createClient({ name: 'Examples', scopes: ['analytics:read', 'analytics:write'] })
    const env = block('/docs', ({ caption }) => caption === '.env').text
    // The page says that the person's own values come here.
    const filled = env
      .replace('ven_…', 'ven_acme')
      .replace('cli_…', client.clientId)
      .replace('ias_…', client.clientSecret)
    await writeFile(join(folder, '.env'), filled)
    for (const { caption, text } of [...pages.values()].flat())
      if (/^[\w-]+\.\w+$/.test(caption)) await writeFile(join(folder, caption), text)
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  })

  function block(path: string, which: (block: Block) => boolean): Block {
    const found = pages.get(path)?.find(which)
    assert.ok(found, path)
    return found
  }

  /** Runs commands as a person's shell would, after the one that loads the file of settings. */
  async function shell(commands: string, env: Record<string, string> = {}): Promise<string> {
    const load = block('/docs', ({ caption }) => caption === 'Shell').text
    const { stdout } = await run('bash', ['-euc', `${load}\n${commands}`], {
      cwd: folder,
      env: { ...ENV, ...env },
      timeout: DEADLINE_MS,
    })
    return stdout
  }

  const unrun = [
    ...Object.entries(TOOLS).filter(([language]) => !has[language]),
    ...Object.entries({ ...LIBRARIES, OPENSSL }).filter(([, it]) => !works(it.try)),
  ].map(([, { name }]) => name)
  it(`runs the examples in Node at least; not run here: ${unrun.join(', ') || 'none'}`, () => {
    for (const language of EVERYTHING ? ['sh', 'js', 'py'] : ['js']) assert.ok(has[language], language)
  })

  for (const [path, printed] of Object.entries(PRINTED)) {
    for (const [language, { name }] of Object.entries(TOOLS)) {
      // Programs begin with the file of the second page, which all others use.
      const onlyCurl = path === '/docs' || path === '/docs/token'
      if (!has[language] || (onlyCurl && language !== 'sh')) continue
      it(`runs the ${name} example of ${path} as it is printed`, async () => {
        const example = block(path, (one) => one.language === language)
        const command = language === 'sh' ? example.text : findCommand(example)
        assert.ok(command, 'the first line says how to run it')
        assert.match(await shell(command), printed)
      })
    }
  }

  for (const path of Object.keys(PRINTED)) {
    if (path === '/docs/token' || !has.sh) continue
    it(`shows the token endpoint’s error in the curl example of ${path}, and sends no request without a token`, async () => {
      const example = block(path, (one) => one.language === 'sh').text
      await assert.rejects(shell(`INTEGRATION_CLIENT_SECRET=wrong\n${example}`), ({ stdout, stderr }) => {
        assert.match(stderr, /"error":"invalid_client".*TOKEN: was not issued/s)
        assert.equal(stdout, '')
        return true
      })
    })
  }

  if (has.sh && works(OPENSSL.try))
    describe('a client that has a key', () => {
      let settings: string
      before(async () => {
        const [pair] = (pages.get('/docs/private-key') ?? []).filter(({ caption }) => caption === 'Shell')
        assert.match(pair?.text ?? '', /-out public-key\.pem$/m)
        await shell(pair?.text ?? '')
        const created = await createClient({
          name: 'With a key',
          scopes: ['analytics:read', 'analytics:write'],
          publicKey: await readFile(join(folder, 'public-key.pem'), 'utf8'),
        })
        const file = 'INTEGRATION_PRIVATE_KEY_FILE=private-key.pem'
        settings = `unset INTEGRATION_CLIENT_SECRET; export INTEGRATION_CLIENT_ID=${created.clientId} ${file}`
      })

      it('gets a token with the curl example of /docs/private-key as it is printed, again and again', async () => {
        const { text } = block('/docs/private-key', (one) => one.language === 'sh')
        for (let times = 0; times < (EVERYTHING ? 8 : 1); times += 1)
          assert.match(
            await shell(`${settings}\n${text}`),
            /^\{"access_token":"ey[\w.-]+","token_type":"Bearer"/,
          )
      })

      for (const [language, { file, changes }] of Object.entries(SIGNING)) {
        if (!has[language] || (language === 'py' && !works(LIBRARIES.py?.try ?? ['false']))) continue
        it(`reads the figures with the ${TOOLS[language]?.name} examples, once they sign`, async () => {
          const path = join(folder, file)
          const printed = block('/docs/token', ({ caption }) => caption === file).text
          const text = changes.reduce((all, [before, after]) => all.replace(before, after), printed)
          assert.doesNotMatch(text, /SECRET/)
          await writeFile(path, text)
          await using _ = afterwards(() => writeFile(path, printed))
          const command = findCommand(block('/docs/analytics', (one) => one.language === language)) ?? ''
          const { totals, currency } = await readDaily('analytics:read')
          // Python prints a whole number as 12.0.
          const lines = (await shell(`${settings}\n${command}`)).replace('.0 ', ' ')
          assert.equal(lines, `200\n304\n${totals.orders} orders, ${totals.revenueMinor / 100} ${currency}\n`)
        })
      }
    })

  for (const [language, { name, page, try: attempt }] of Object.entries(LIBRARIES)) {
    if (!has[language] || !works(attempt)) continue
    it(`verifies a token with the ${name} example of ${page}, and refuses a forged one`, async () => {
      const { body } = await requestToken(client)
      const command = findCommand(block(page, (one) => one.language === language)) ?? ''
      const ACCESS_TOKEN = String(body.access_token)
      assert.equal((await shell(command, { ACCESS_TOKEN })).trim(), client.clientId)
      const forged = ACCESS_TOKEN.replace(/\.[^.]*$/, `.${'A'.repeat(86)}`)
      await assert.rejects(shell(command, { ACCESS_TOKEN: forged }))
    })

    it(`refuses a revoked token with the ${name} example of ${page}`, async () => {
      const own = await createClient({ name: `Revoked for ${name}` })
      const env = { ACCESS_TOKEN: String((await requestToken(own)).body.access_token) }
      const isFeed = (one: Block) => one.language === language && one.caption.startsWith('revocations.')
      const command = findCommand(block(page, isFeed)) ?? ''
      assert.equal(await shell(command, env), 'live\n')
      await revokeClient(own.clientId)
      const refused = () => shell(command, env).catch(({ stderr }) => stderr.includes('401: revoked'))
      // The server shares a page for a second.
      await eventually(async () => (await refused()) === true, { limit_ms: DEADLINE_MS })
    })
  }

  for (const [language, { name }] of Object.entries(TOOLS)) {
    if (language === 'sh' || !has[language]) continue
    for (const page of ['/docs/events', '/docs/rate-limits'])
      it(`says what was answered to the ${name} example of ${page}`, async () => {
        const command = findCommand(block(page, (one) => one.language === language))
        for (const wrong of ['INTEGRATION_VENDOR_ID=ven_other', 'INTEGRATION_BASE_URL+=/api'])
          await assert.rejects(shell(`${wrong}\n${command}`), { stderr: /"forbidden"|not_allowed/ })
      })

    it(`receives a test event with the ${name} example of /docs/webhooks, also after what is none`, async () => {
      const receiver = block('/docs/webhooks', (one) => one.language === language)
      const port = await freePort()
      const own = (text: string) => text.replaceAll('3000', String(port))
      await writeFile(join(folder, receiver.caption), own(receiver.text))
      const command = own(findCommand(receiver) ?? '')
      const child = spawn('bash', ['-c', `exec ${command}`], { cwd: folder, env: ENV, detached: true })
      let heard = ''
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (heard += chunk))
      await using _ = afterwards(() => process.kill(-(child.pid as number)))
      const body = testEventPayload('ven_acme', '2026-11-22T03:04:05.678Z')
      const headers = { 'Content-Type': 'application/json' }
      const url = `http://127.0.0.1:${port}/events`
      const post = async (body: string) => {
        const sent = { method: 'POST', body, headers, signal: AbortSignal.timeout(5_000) }
        return (await fetch(url, sent).catch(() => undefined))?.status
      }
      await eventually(async () => (await post(body)) === 204, { every_ms: 100 })
      // A proxy may open a connection long before it sends a request.
      connect(port, '127.0.0.1').on('error', () => {})
      const refused = language === 'java' ? 204 : 400 // Without a library it reads no JSON.
      for (const text of ['', 'null', '{', body])
        assert.equal(await post(text), text === body ? 204 : refused, text)
      await eventually(() => /test_event.*ven_acme.*2026-11-22/.test(heard), { otherwise: () => heard })
    })
  }

  if (has.sh)
    it('saves a callback URL and tests it with the commands of /docs/webhooks', async () => {
      const { text } = block('/docs/webhooks', (one) => one.text.includes('sign-in.json'))
      const account = { email: OWNER, password: (await testStack()).demoPassword }
      await writeFile(join(folder, 'sign-in.json'), JSON.stringify(account))
      const printed = await shell(text)
      assert.match(printed, /"callbackUrl":"https:\/\/hooks\.example\.com\/events"/)
      assert.match(printed, /"outcome":"\w+"/)
      assert.doesNotMatch(printed, /ses_/)
    })

  it('accepts each type of event in /docs/events, once it is dated today', async () => {
    const events = (pages.get('/docs/events') ?? [])
      .filter(({ caption, text }) => caption === 'JSON' && text.includes('eventId'))
      .map(({ text }) => ({ ...JSON.parse(text), occurredAt: new Date().toISOString() }))
    assert.deepEqual(
      events.map(({ type }) => type),
      ['impression', 'click', 'order', 'boost_spend'],
    )
    assert.deepEqual(await postEvents(events), { accepted: 4, duplicates: 0 })
  })

  const tokenFor = async (scope: string) =>
    String((await requestToken({ ...client, scope })).body.access_token)
  const postEvents = async (events: unknown[]) =>
    api('/v1/analytics/ven_acme/events', { token: await tokenFor('analytics:write'), body: { events } })
  const readDaily = async (scope: string) =>
    api('/v1/analytics/ven_acme/daily', { token: await tokenFor(scope) })

  describe('the answers', () => {
    const http = (path: string, status: number) => {
      const { text } = block(path, ({ text }) => text.startsWith(`HTTP/1.1 ${status} `))
      const [head = '', body = ''] = text.split('\n\n')
      const fields = head.split('\n').slice(1)
      return { fields: Object.fromEntries(fields.map((line) => line.split(': '))), body: JSON.parse(body) }
    }

    it('prints the answers to a token request, and to one with a wrong secret, in /docs/token', async () => {
      for (const [status, secret] of [
        [200, client.clientSecret],
        [401, 'wrong'],
      ] as const) {
        const response = await fetch(`${(await testStack()).baseUrl}/v1/oauth/token`, {
          method: 'POST',
          headers: { Authorization: `Basic ${btoa(`${client.clientId}:${secret}`)}` },
          body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'analytics:read' }),
        })
        const { fields, body } = http('/docs/token', status)
        assert.equal(response.status, status)
        for (const [name, value] of Object.entries(fields))
          if (name === 'RateLimit')
            assert.match(response.headers.get(name) ?? '', /^"token-client";r=\d+;t=\d+$/)
          else assert.equal(response.headers.get(name), value, name)
        const answer = (await response.json()) as Record<string, unknown>
        assert.deepEqual({ ...answer, ...(status === 200 && { access_token: body.access_token }) }, body)
      }
    })

    it('prints the answers to an unknown scope and a missing one in /docs/errors', async () => {
      const [oauth, problem] = (pages.get('/docs/errors') ?? []).map(({ text }) => JSON.parse(text))
      assert.deepEqual((await requestToken({ ...client, scope: 'nonsense' })).body, oauth)
      const answer = (await readDaily('analytics:write')) as { type: string }
      assert.deepEqual({ ...answer, requestId: problem.requestId }, problem)
      const [page = '', anchor] = answer.type.split('#')
      assert.ok((await (await fetch(page)).text()).includes(` id="${anchor}"`))
    })

    it('prints the answer to an event that is too old in /docs/events', async () => {
      const event = { eventId: 'old', type: 'click', occurredAt: '2020-01-01T00:00:00Z' }
      const printed = http('/docs/events', 422).body
      assert.deepEqual({ ...(await postEvents([event])), requestId: printed.requestId }, printed)
    })

    it('lists the members of the daily figures in /docs/analytics', async () => {
      const answer = await readDaily('analytics:read')
      const printed = JSON.parse(block('/docs/analytics', ({ caption }) => caption === 'JSON').text)
      assert.deepEqual(reduceToShape(answer), reduceToShape(printed))
    })

    it('prints the request of a test event in /docs/webhooks', () => {
      const { text } = block('/docs/webhooks', ({ caption }) => caption === 'HTTP')
      const sentAt = new Date('2026-11-20T17:04:00.000Z')
      assert.equal(text, exampleRequest('https://hooks.example.com/events', 'ven_acme', sentAt))
    })
  })
})

/** The names of all members, of the first element of each list. */
function reduceToShape(value: unknown): unknown {
  if (Array.isArray(value)) return [reduceToShape(value[0])]
  if (typeof value !== 'object' || value === null) return null
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, reduceToShape(member)]))
}
