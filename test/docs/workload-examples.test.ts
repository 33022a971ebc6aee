import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import * as http from 'node:http'
import * as https from 'node:https'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { decodeJwt } from 'jose'
import { ASSERTION_ALGORITHMS } from '#shared/oauth/client-credentials.ts'
import { drain, listen } from '#shared/process/http-server.ts'
import { createFetchKeys } from '../../apps/api/workload/fetch-keys.ts'
import { WorkloadInput } from '../../apps/api/workload/workload.ts'
import { platformFile } from '../../apps/workspace/src/clients/snippets.ts'
import { TEST_INTERNET } from '../api/callbacks/sending.ts'
import { newKeyPair } from '../support/assertions.ts'
import { startAuth, type TestAuth } from '../support/auth.ts'
import { forBlock } from '../support/block.ts'
import { createCertificate } from '../support/certificates.ts'
import { sharedFolder } from '../support/folder.ts'
import { run } from '../support/program.ts'
import { read } from '../support/project.ts'
import { authority } from '../support/receivers.ts'
import { startWorkloadIssuer } from '../support/workload-issuer.ts'
import { platformToken, TEST_PLATFORMS, type TestPlatform } from '../support/workload-tokens.ts'

const DEADLINE_MS = 30_000
const PAGE = read('apps/api/discovery/docs/pages/workload-platforms.md')

interface Example {
  /** How a job's commands find the platform's token, as the platform documents it. */
  env?: (job: { url: string; proxy: string; token: string }) => Record<string, string>
  /** The program that they run, its arguments, and what it prints in place of the token and a newline. */
  tool?: [name: string, args: RegExp, prints?: (token: string) => string]
}

const EXAMPLES: Record<string, Example> = {
  Buildkite: {
    tool: ['buildkite-agent', /^oidc request-token --audience https:\/\/localhost:\d+ --claim pipeline_id$/],
  },
  CircleCI: { tool: ['circleci', /^run oidc get --claims \{"aud": "https:\/\/localhost:\d+"\}$/] },
  'Bitbucket Pipelines': { env: ({ token }) => ({ BITBUCKET_STEP_OIDC_TOKEN: token }) },
  'GitHub Actions': {
    env: ({ url }) => ({
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'runner-token',
      ACTIONS_ID_TOKEN_REQUEST_URL: `${url}/github?api-version=2.0`,
    }),
  },
  GitLab: { env: ({ token }) => ({ ASSERTION: token }) },
  Kubernetes: {},
  SPIFFE: {
    tool: [
      'spire-agent',
      /^api fetch jwt -audience https:\/\/localhost:\d+$/,
      (token) =>
        `token(spiffe://example.org/report):\n\t${token}\nbundle(spiffe://example.org):\n\t{"keys":[]}\n`,
    ],
  },
  // Its address is on the machine itself, so the answer comes by way of a proxy.
  'Google Cloud': { env: ({ proxy }) => ({ http_proxy: proxy }) },
  AWS: {
    tool: ['aws', /^sts get-web-identity-token --audience \["https:\/\/localhost:\d+"\] .*--output text$/],
  },
}

describe('documentation: a platform’s token in place of a secret', () => {
  const folder = sharedFolder()
  let url: string
  let proxy: string
  let auth: TestAuth
  const issuer = forBlock(() => startWorkloadIssuer([]))
  let token: string
  const servers: http.Server[] = []

  before(async () => {
    const name = 'localhost'
    const { keyPem, pem } = createCertificate({ commonName: name, names: [name], issuer: authority })
    servers.push(https.createServer({ key: keyPem, cert: pem }, answer), http.createServer(answer))
    const [port, proxyPort] = await Promise.all(
      servers.map((server) => listen(server, { host: '127.0.0.1', port: 0 })),
    )
    url = `https://localhost:${port}`
    proxy = `http://localhost:${proxyPort}`
    auth = await startAuth({ env: { ISSUER: url } })
    await writeFile(join(folder, 'ca.pem'), authority.pem)
  })
  after(async () => {
    for (const server of servers) await drain(server, 1_000)
    await auth.stop()
  })

  /** GitHub's endpoint, Google's metadata server (by way of a proxy), and this service. */
  async function answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const { pathname, searchParams, host } = new URL(request.url ?? '', url)
    const { authorization, 'metadata-flavor': flavor } = request.headers
    const isForUs = searchParams.get('audience') === url
    if (pathname === '/github') {
      assert.equal(authorization, 'Bearer runner-token')
      return void response.end(JSON.stringify({ count: 1984, ...(isForUs && { value: token }) }))
    }
    if (host === 'metadata.google.internal')
      return void response.end(flavor === 'Google' && isForUs ? token : '')
    if (pathname === '/v1/oauth/token')
      return void response.end((await auth.post(pathname, await text(request))).text)
    response.end(authorization)
  }

  it('names the algorithms of tokens, and for each platform claims that are enough, and none too many', () => {
    const rules = read('apps/api/discovery/docs/pages/workload-identity.md')
    const namesIn = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
    const [, algorithms] = /^\| `alg` \| (.+) \|$/m.exec(rules) ?? []
    assert.deepEqual(new Set(namesIn(algorithms)), new Set(ASSERTION_ALGORITHMS))
    const rows = [...rules.matchAll(/^\| (G\w+|B\w+|CircleCI)\b.* \| (`.+) \|$/gm)]
    assert.equal(rows.length, 5)
    for (const [, name = '', cell = ''] of rows) {
      const [ids = [], others = []] = cell.split(/ with | and /).map(namesIn)
      const accepts = (...names: string[]) => {
        const claims = Object.fromEntries(names.map((claim) => [claim, 'x']))
        const platform = name.toLowerCase()
        return WorkloadInput.safeParse({ issuer: 'https://ci.acme.com', platform, claims }).success
      }
      assert.ok(!accepts(...ids) && others.length > 0, name)
      for (const other of others) assert.ok(accepts(...ids, other), `${name}: ${other}`)
    }
  })

  const findBlock = (heading: string): string =>
    new RegExp(`^## ${heading}\\n[\\s\\S]*?^\`\`\`\\w+[^\\n]*\\n([\\s\\S]*?)^\`\`\`$`, 'm')
      .exec(PAGE)?.[1]
      ?.replaceAll(/\{(?:issuer|base_url)\}/g, url) ?? assert.fail(heading)

  /** A client of the platform with a token as documented. The API fetched its issuer's published keys. */
  async function createWorkload(platform: TestPlatform) {
    const keys = newKeyPair(platform.kind)
    issuer.published.keys = [{ ...keys.jwk, kid: 'k1', ...platform.key }]
    const fetched = await createFetchKeys(TEST_INTERNET)(issuer.issuer)
    assert.ok(Array.isArray(fetched), String(fetched))
    const workload = { issuer: issuer.issuer, claims: platform.claims, keys: fetched }
    const { clientId } = await auth.createClient({ workload })
    const aud = Array.isArray(platform.token(0).aud) ? [url] : url
    const at = { platform: { ...platform, issuer: issuer.issuer }, keys }
    return { clientId, token: await platformToken(at, Date.now(), { aud }) }
  }

  for (const [heading, { env, tool }] of Object.entries(EXAMPLES))
    it(`shows what the workspace shows for ${heading}, and it gets a token`, async () => {
      const platform = TEST_PLATFORMS[heading] as TestPlatform
      const shown = { ...platform, platform: platform.platform ?? null }
      const credential = { method: 'workload_identity', workload: shown } as const
      const ids = { baseUrl: url, vendorId: 'ven_…', clientId: 'cli_…' }
      const file = platformFile({ ...ids, credential, scopes: ['analytics:read'] }, shown)
      const block = findBlock(heading)
      assert.ok(file.text.startsWith(block.trimEnd()), `${block}\nis not of\n${file.text}`)
      const workload = await createWorkload(platform)
      ;({ token } = workload)
      await writeFile(join(folder, 'token'), token)
      const [name = 'none', args = /^$/, prints = (token: string) => `${token}\n`] = tool ?? []
      const script = `#!/bin/sh\necho "$*" > "$0.arguments"\nprintf '%s' '${prints(token)}'\n`
      await writeFile(join(folder, name), script, { mode: 0o755 })
      const commands = scriptIn(file.text)
        .replace('/var/run/secrets/integration', folder)
        .replace('cli_…', workload.clientId)
      const { stdout } = await run('bash', ['-euc', commands], {
        timeout: DEADLINE_MS,
        env: {
          PATH: folder + delimiter + process.env.PATH,
          CURL_CA_BUNDLE: join(folder, 'ca.pem'),
          ...env?.({ url, proxy, token }),
        },
      })
      const [scheme, issued = ''] = stdout.split(' ')
      assert.equal(scheme, 'Bearer')
      assert.equal(decodeJwt(issued).client_id, workload.clientId)
      if (tool) assert.match((await readFile(join(folder, `${name}.arguments`), 'utf8')).trim(), args)
    })
})

/** Returns the commands of a file: its block scalar, or all of it. */
function scriptIn(file: string): string {
  const [, indent, script] =
    /^( +)(?:- )?(?:run: )?(?:- )?\|\n([\s\S]*?)(?=^ {6,8}\w+:|\n*$(?![\s\S]))/m.exec(file) ?? []
  return script === undefined
    ? file
    : script.replaceAll(new RegExp(`^ {${(indent?.length ?? 0) + 2}}`, 'gm'), '')
}
