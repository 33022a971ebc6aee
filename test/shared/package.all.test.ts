import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterwards } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'
import { sharedFolder } from '../support/folder.ts'
import { freePort } from '../support/ports.ts'
import { run } from '../support/program.ts'
import { createClient, requestToken, revokeClient, testStack } from '../support/workspace.ts'

const ROOT = join(import.meta.dirname, '../..')
const NPM_INSTALL = ['install', '--prefer-offline', '--no-audit', '--no-fund']

const USE = `
import { createAccessTokens, TokenRefused } from 'integration-access-tokens'
import { createRevocationFeed, type RevocationFeed } from 'integration-access-tokens/revocation-feed'
import { createSigningKeys } from 'integration-access-tokens/signing-keys'

const keys = createSigningKeys({ url: 'https://a.test/v1/oauth/jwks' })
const revocation: RevocationFeed = createRevocationFeed({ url: 'https://a.test', issuer: 'https://a.test', keys })
const tokens = createAccessTokens({ keys, issuer: 'https://a.test', resource: 'https://a.test', revocation })
export async function answer(request: Request): Promise<number> {
  try {
    const { clientId } = await tokens.admit(request, { scope: 'catalog:write', vendorId: 'ven_a' })
    return clientId.length
  } catch (error) {
    if (error instanceof TokenRefused) return error.status
    throw error
  }
}
// @ts-expect-error a request without what is wanted
await tokens.admit(new Request('https://a.test'))
`

describe('the package of shared/access-tokens, installed in an empty folder', () => {
  const folder = sharedFolder()
  before(async () => {
    const env = { ...process.env, CDPATH: '.' }
    const pack = (argument: string) =>
      run('npm', ['run', '--silent', 'package', '--', argument], { cwd: ROOT, env })
    await assert.rejects(pack('--help'), /Usage: npm run package -- \[FOLDER\]/)
    const { stdout } = await pack(folder)
    await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}')
    // The frameworks, and the package's one dependency, are those of this repository: nothing is downloaded.
    const linked = ['jose', 'express', 'fastify'].map((name) => join(ROOT, 'node_modules', name))
    await run('npm', [...NPM_INSTALL, stdout.trim(), ...linked], { cwd: folder })
    const readme = await readFile(join(folder, 'node_modules/integration-access-tokens/README.md'), 'utf8')
    for (const [, file = '', code = ''] of readme.matchAll(/^```js (\S+)\n(.*?)^```$/gms))
      await writeFile(join(folder, file), code)
  })

  it('depends on jose alone and has the licence of the root', async () => {
    const read = async (path: string) => JSON.parse(await readFile(path, 'utf8'))
    const own = await read(join(folder, 'node_modules/integration-access-tokens/package.json'))
    const root = await read(join(ROOT, 'package.json'))
    assert.deepEqual(Object.keys(own.dependencies), ['jose'])
    assert.equal(own.license, root.license)
    assert.equal(own.version, root.version)
  })

  it('has types that a strict program can use', async () => {
    await writeFile(join(folder, 'use.ts'), USE)
    const options = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2022', '--types', '']
    const lib = ['--lib', 'es2023,dom', '--skipLibCheck', 'false']
    await run(join(ROOT, 'node_modules/.bin/tsc'), [...options, ...lib, 'use.ts'], { cwd: folder }).catch(
      ({ stdout }) => assert.fail(stdout),
    )
  })

  for (const name of ['express', 'fastify', 'http'])
    it(`serves good tokens and refuses the rest in the README's ${name}.mjs, also from a revocation on`, async () => {
      const { baseUrl } = await testStack()
      const scopes = ['catalog:write', 'boost:read']
      const client = await createClient({ name: `Package ${name}`, scopes })
      const tokenFor = async (scope: string) =>
        String((await requestToken({ ...client, scope })).body.access_token)
      const port = await freePort()
      const env = { ...process.env, INTEGRATION_BASE_URL: baseUrl, PORT: String(port) }
      const service = spawn(process.execPath, [`${name}.mjs`], { cwd: folder, env, stdio: 'inherit' })
      const add = (token?: string, vendorId = 'ven_acme') =>
        fetch(`http://127.0.0.1:${port}/${vendorId}/products`, {
          method: 'POST',
          headers: token === undefined ? {} : { Authorization: `Bearer ${token}` },
        })
      await using _ = afterwards(() => ended(service))
      await eventually(() =>
        add().then(
          () => true,
          () => false,
        ),
      )
      const token = await tokenFor('catalog:write')
      const added = await add(token)
      assert.equal(await added.text(), `added by ${client.clientId}`)
      assert.equal(added.status, 201)
      await assertRefused(await add(), 401, /^Bearer realm="[^"]+"$/)
      await assertRefused(await add(`${token.slice(0, -8)}AAAAAAAA`), 401, /error="invalid_token"/)
      await assertRefused(await add(await tokenFor('boost:read')), 403, /scope="catalog:write"/)
      assert.equal((await add(token, 'ven_globex')).status, 403)

      await revokeClient(client.clientId)
      // Far from the 900 s that the token is still good for.
      await eventually(async () => (await add(token)).status === 401)
      await assertRefused(await add(token), 401, /error_description="[^"]*revoked"/)
    })
})

async function assertRefused(response: Response, status: number, challenge: RegExp): Promise<void> {
  assert.equal(response.status, status)
  assert.match(response.headers.get('www-authenticate') ?? '', challenge)
}

async function ended(child: ChildProcess): Promise<void> {
  const exit = new Promise((resolve) => child.once('exit', resolve))
  child.kill()
  await exit
}
