import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { drain, listen } from '#shared/process/http-server.ts'
import type { Workload } from '../../apps/workspace/src/clients/platforms.ts'
import { platformFile } from '../../apps/workspace/src/clients/snippets.ts'
import { createCertificate } from '../support/certificates.ts'

const run = promisify(execFile)
const DEADLINE_MS = 30_000
const PAGE = new URL('../../apps/api/discovery/docs/pages/workload-identity.md', import.meta.url)
const TOKEN = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJyZXBvcnQifQ.c2lnbmF0dXJl'

interface Platform {
  heading: string
  workload: Workload
  /** What the platform prints, or answers, as it documents it. */
  env?: (platform: { url: string; proxy: string }) => Record<string, string>
  tool?: { name: string; prints: string; arguments: RegExp }
}

const PLATFORMS: Platform[] = [
  {
    heading: 'GitHub Actions',
    workload: {
      issuer: 'https://token.actions.githubusercontent.com',
      claims: { repository_id: '1296269', environment: 'production' },
    },
    env: ({ url }) => ({
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'runner-token',
      ACTIONS_ID_TOKEN_REQUEST_URL: `${url}/github?api-version=2.0`,
    }),
  },
  {
    heading: 'GitLab',
    workload: { issuer: 'https://gitlab.com', claims: { project_id: '22', ref_protected: 'true' } },
    env: () => ({ ASSERTION: TOKEN }),
  },
  {
    heading: 'Kubernetes',
    workload: { issuer: 'https://cluster.example', claims: { sub: 'system:serviceaccount:prod:report' } },
  },
  {
    heading: 'SPIFFE',
    workload: { issuer: 'https://spire.example', claims: { sub: 'spiffe://example.org/report' } },
    tool: {
      name: 'spire-agent',
      prints: `token(spiffe://example.org/report):\n\t${TOKEN}\nbundle(spiffe://example.org):\n\t{"keys":[]}\n`,
      arguments: /^api fetch jwt -audience https:\/\/localhost:\d+$/,
    },
  },
  {
    heading: 'Google Cloud',
    workload: { issuer: 'https://accounts.google.com', claims: { sub: '112233445566778899001' } },
    // Its address is on the machine itself, so the answer comes by way of a proxy.
    env: ({ proxy }) => ({ http_proxy: proxy }),
  },
  {
    heading: 'AWS',
    workload: {
      issuer: 'https://0f1e2d3c.tokens.sts.global.api.aws',
      claims: { sub: 'arn:aws:iam::111122223333:role/report' },
    },
    tool: {
      name: 'aws',
      prints: `${TOKEN}\n`,
      arguments: /^sts get-web-identity-token --audience https:\/\/localhost:\d+ .*--output text$/,
    },
  },
]

describe('documentation: a platform’s token in place of a secret', () => {
  let folder: string
  let url: string
  let page: string
  let proxy: string
  const servers: Server[] = []
  let form: URLSearchParams | undefined

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'integration-access-workload-'))
    page = await readFile(PAGE, 'utf8')
    const authority = createCertificate({ commonName: 'Examples', isAuthority: true })
    const certificate = createCertificate({
      commonName: 'localhost',
      names: ['localhost'],
      issuer: authority,
    })
    const listener = (request: IncomingMessage, response: ServerResponse) => void answer(request, response)
    servers.push(
      createServer({ key: certificate.keyPem, cert: certificate.pem }, listener),
      createHttpServer(listener),
    )
    const [port, proxyPort] = await Promise.all(
      servers.map((server) => listen(server, { host: '127.0.0.1', port: 0 })),
    )
    url = `https://localhost:${port}`
    proxy = `http://localhost:${proxyPort}`
    await writeFile(join(folder, 'ca.pem'), authority.pem)
    await writeFile(join(folder, 'token'), TOKEN)
  })
  beforeEach(() => {
    form = undefined
  })
  after(async () => {
    for (const server of servers) await drain(server, 1_000)
    await rm(folder, { recursive: true, force: true })
  })

  /** GitHub's endpoint, Google's metadata server (by way of a proxy), and this service. */
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams, host } = new URL(request.url ?? '', url)
    const { authorization, 'metadata-flavor': flavor } = request.headers
    const json = (body: object) => response.end(JSON.stringify(body))
    if (pathname === '/github') {
      assert.equal(authorization, 'Bearer runner-token')
      return void (searchParams.get('audience') === url ? json({ count: 1984, value: TOKEN }) : json({}))
    }
    if (host === 'metadata.google.internal')
      return void response.end(flavor === 'Google' && searchParams.get('audience') === url ? TOKEN : '')
    if (pathname === '/v1/oauth/token') {
      form = new URLSearchParams(await text(request))
      return void json({ access_token: 'ey.access.token', token_type: 'Bearer' })
    }
    json({ path: pathname, authorization })
  }

  const blockOf = (heading: string): string =>
    new RegExp(`^## ${heading}\\n[\\s\\S]*?^\`\`\`\\w+[^\\n]*\\n([\\s\\S]*?)^\`\`\`$`, 'm')
      .exec(page)?.[1]
      ?.replaceAll('{issuer}', url) ?? assert.fail(heading)

  for (const { heading, workload, env, tool } of PLATFORMS)
    it(`shows what the workspace shows for ${heading}, and it sends the token`, async () => {
      const access = {
        baseUrl: url,
        vendorId: 'ven_…',
        clientId: 'cli_…',
        credential: { workload },
        scopes: ['analytics:read'] as const,
      }
      const file = platformFile(access, workload)
      const block = blockOf(heading)
      assert.ok(file.text.startsWith(block.trimEnd()), `${block}\nis not of\n${file.text}`)
      if (tool) {
        const path = join(folder, tool.name)
        await writeFile(path, `#!/bin/sh\necho "$*" > ${path}.arguments\nprintf '%s' '${tool.prints}'\n`)
        await chmod(path, 0o755)
      }
      const commands = scriptIn(file.text).replace('/var/run/secrets/integration', folder)
      const { stdout } = await run('bash', ['-euc', commands], {
        timeout: DEADLINE_MS,
        env: {
          PATH: folder + delimiter + process.env.PATH,
          CURL_CA_BUNDLE: join(folder, 'ca.pem'),
          ...env?.({ url, proxy }),
        },
      })
      assert.deepEqual(Object.fromEntries(form ?? []), {
        grant_type: 'client_credentials',
        client_id: 'cli_…',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: TOKEN,
        scope: 'analytics:read',
      })
      assert.equal(JSON.parse(stdout).authorization, 'Bearer ey.access.token')
      if (tool)
        assert.match((await readFile(join(folder, `${tool.name}.arguments`), 'utf8')).trim(), tool.arguments)
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
