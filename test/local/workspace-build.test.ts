import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { StartError } from '../../infra/local/start-error.ts'
import { startVite } from '../../infra/local/vite-pages.ts'
import { buildWorkspace } from '../../infra/local/workspace-build.ts'
import { afterwards } from '../support/block.ts'
import { writeFiles } from '../support/files.ts'
import { sharedFolder } from '../support/folder.ts'

describe('the build of the workspace at a local start', () => {
  const folder = sharedFolder()
  let root: string
  let said: string[]
  const page = () => join(root, 'apps/workspace/index.html')
  const build = (options = {}) => buildWorkspace(root, (line) => said.push(line), options)

  beforeEach(async () => {
    root = join(folder, randomUUID())
    said = []
    const files = { 'package-lock.json': '{}', 'apps/workspace/index.html': '<p>first</p>' }
    await writeFiles(root, { ...files, 'shared/oauth/scopes.ts': "export const SCOPES = ['read']" })
  })

  it('builds once for the same sources, and again for changed ones', async () => {
    assert.equal(await build(), await build())
    assert.equal(said.length, 1)
    await writeFile(page(), '<p>second</p>')
    assert.match(await readFile(join(await build(), 'index.html'), 'utf8'), /second/)
    assert.equal(said.length, 2)
  })

  it('builds again when a file of shared or a package has changed, whatever NODE_ENV is', async () => {
    process.env.NODE_ENV = 'development'
    const { NODE_ENV: before = '' } = process.env
    await using _ = afterwards(() => Object.assign(process.env, { NODE_ENV: before }))
    await writeFiles(root, {
      'package.json': '{"type":"module","imports":{"#shared/*":"./shared/*"}}',
      'apps/workspace/index.html': '<script type="module" src="/main.ts"></script>',
      'apps/workspace/main.ts':
        "import { SCOPES } from '#shared/oauth/scopes.ts'\nconsole.log(SCOPES, process.env.NODE_ENV)",
    })
    const first = await build()
    await writeFile(join(root, 'shared/oauth/scopes.ts'), "export const SCOPES = ['read', 'write']")
    const second = await build()
    await writeFile(join(root, 'package-lock.json'), '{"lockfileVersion":3}')
    const third = await build()
    assert.equal(new Set([first, second, third]).size, 3)
    const [script = ''] = await readdir(join(third, 'assets'))
    assert.match(await readFile(join(third, 'assets', script), 'utf8'), /production/)
  })

  it('keeps a build until no start has used it for 30 days, and what was killed as long', async () => {
    const builds = join(root, 'node_modules/.cache/workspace')
    const first = await build()
    for (const name of ['unfinished-a', 'used']) await writeFiles(join(builds, name), { a: '' })
    const age = (name: string, days: number) => {
      const time = new Date(Date.now() - days * 86_400_000)
      return utimes(join(builds, name), time, time)
    }
    await Promise.all([age(basename(first), 31), age('unfinished-a', 31), age('used', 29)])
    await build()
    await writeFile(page(), '<p>second</p>')
    const second = await build()
    assert.deepEqual(
      (await readdir(builds)).sort(),
      [first, second, 'used'].map((path) => basename(path)).sort(),
    )
  })

  it('keeps the build whole while other starts build the same', async () => {
    await build()
    await writeFile(page(), '<p>second</p>')
    let building = 3
    async function readWhileBuilding(): Promise<void> {
      const built = await build()
      building--
      do assert.match(await readFile(join(built, 'index.html'), 'utf8'), /second/)
      while (building > 0)
    }
    await Promise.all([readWhileBuilding(), readWhileBuilding(), readWhileBuilding()])
  })

  it('is given up if it takes too long', async () => {
    const sentence =
      "The workspace's screens could not be built: it took longer than 0.001 s. Start again when this machine is less busy."
    await assert.rejects(build({ deadline_ms: 1 }), new StartError(sentence))
    await writeFiles(root, {
      'apps/workspace/vite.config.ts': 'setInterval(() => {}, 1e3)\nexport default new Promise(() => {})',
    })
    const aborted = performance.now()
    await assert.rejects(build({ signal: AbortSignal.timeout(500) }), StartError)
    assert.ok(performance.now() - aborted < 20_000)
    await writeFiles(root, { 'apps/workspace/vite.config.ts': 'export default new Promise(() => {})' })
    await assert.rejects(build(), /could not be built: Vite wrote no page\.$/)
    await assert.rejects(startVite(join(root, 'apps/workspace'), join(root, 'vite'), 1_000), StartError)
  })

  it('compresses each text file of the screens', async () => {
    const built = await buildWorkspace(join(import.meta.dirname, '../..'), () => {})
    const files = await readdir(built, { recursive: true })
    const texts = files.filter((file) => /\.(?:html|js|css|svg)$/.test(file))
    assert.ok(texts.some((file) => file.startsWith('assets/')))
    const compressed = texts.flatMap((file) => [`${file}.br`, `${file}.gz`])
    assert.deepEqual(files.filter((file) => /\.(?:br|gz)$/.test(file)).sort(), compressed.sort())
  })

  it('names what is wrong with a source', async () => {
    await writeFile(page(), '<script type="module" src="/gone.js"></script>')
    const error = await build().catch((reason) => reason)
    assert.ok(error instanceof StartError)
    assert.match(error.message, /could not be built: .*gone\.js/s)
    await rm(join(root, 'node_modules'), { recursive: true })
    await writeFile(join(root, 'node_modules'), '')
    await assert.rejects(
      build(),
      /could not be built: ENOTDIR: .* first start, node_modules must be writable\.$/,
    )
  })
})
