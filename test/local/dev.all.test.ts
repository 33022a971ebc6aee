import assert from 'node:assert/strict'
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { launchChromium } from '../support/chromium.ts'
import { eventually } from '../support/eventually.ts'
import { sharedFolder } from '../support/folder.ts'
import { ROOT } from '../support/project.ts'
import { type Start, startStackProcess } from '../support/start.ts'

/* It edits a copy of the sources, so that tests beside it are not disturbed. */
describe('npm run dev', () => {
  let start: Start
  let browser: Browser
  let page: Page
  after(async () => {
    await browser?.close()
    await start?.stop()
  })
  const folder = sharedFolder()
  const troubles: string[] = []

  before(async () => {
    for (const name of ['apps', 'infra', 'shared', 'package.json', 'tsconfig.json'])
      await cp(join(ROOT, name), join(folder, name), { recursive: true })
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    await mkdir(join(folder, '.data'), { mode: 0o711 })
    const { dev } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')).scripts
    // The types, which it writes first, are for editors.
    const [, , program, ...args] = dev.split(' && ').at(-1).split(' ')
    start = await startStackProcess({
      dataDir: join(folder, '.data/local'),
      command: [process.execPath, join(folder, program), ...args],
    })
    ;[browser] = await Promise.all([launchChromium(), start.ready()])
    page = await browser.newPage()
    page.on('pageerror', ({ message }) => troubles.push(message))
    page.on('console', (line) => {
      if (/Content.Security.Policy|Trusted/i.test(line.text())) troubles.push(line.text())
    })
    await page.goto(start.baseUrl)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.evaluate(() => Object.assign(window, { stillTheSamePage: true }))
  })

  async function edit(name: string, from: string, to: string): Promise<void> {
    const file = join(folder, name)
    const text = await readFile(file, 'utf8')
    assert.ok(text.includes(from), `${name} has ${from}`)
    await writeFile(file, text.replace(from, to))
  }

  const answers = (path: string, text: string) =>
    eventually(
      async () => {
        const answer = await fetch(start.baseUrl + path).catch(() => undefined)
        return (await answer?.text())?.includes(text) ?? false
      },
      { every_ms: 100, otherwise: () => `${path} never had ${text}:\n${start.stderr()}` },
    )

  for (const [what, path, name, from, to] of [
    ['a page of /docs', '/docs/scopes', 'apps/api/discovery/docs/pages/scopes.md', '# ', '# Edited '],
    ['the API', '/v1/nowhere', 'apps/api/http/router.ts', 'No such path.', 'No such path here.'],
    ["auth's description", '/openapi.json', 'apps/auth/openapi.json', 'Issue an access', 'Issue an edited'],
    [
      'shared code',
      '/.well-known/openid-configuration',
      'shared/oauth/scopes.ts',
      'boost:r',
      'boost:edited-r',
    ],
  ] as const)
    it(`answers with a change of ${what}`, async () => {
      await edit(name, from, to)
      await answers(path, to.replace('# ', ''))
    })

  it('shows an edited screen without loading the page again', async () => {
    await edit('apps/workspace/src/session/SignInScreen.tsx', 'title="Sign in"', 'title="Sign in, edited"')
    await page.getByRole('heading', { name: 'Sign in, edited' }).waitFor()
    await edit('shared/look/look.css', ':root', 'body { outline: 3px solid rgb(1, 2, 3) }\n:root')
    await page.waitForFunction(() => getComputedStyle(document.body).outlineColor === 'rgb(1, 2, 3)')
    assert.equal(await page.evaluate(() => 'stillTheSamePage' in window), true)
    assert.deepEqual(troubles, [])
  })

  const statuses = { '/ven_acme/integrations': 200, '/V1/session': 404, '/oauth/token': 404 }
  for (const [path, status] of Object.entries(statuses))
    it(`answers ${path} with ${status}, as the built pages do`, async () => {
      assert.equal((await fetch(start.baseUrl + path)).status, status)
    })

  for (const path of ['.data/local/secrets.json', 'package.json', 'infra/admin/operator.ts'])
    it(`does not serve ${path}`, async () => {
      const { status } = await fetch(`${start.baseUrl}/@fs${folder}/${path}`)
      assert.equal(status, 403)
    })

  it('leaves no process behind', async () => {
    assert.ok((await start.running()).length > 0)
    assert.equal(await start.stop(), 0)
    assert.deepEqual(await start.running(), [])
  })
})
