import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StartError } from '../../infra/local/start-error.ts'
import { buildWorkspace } from '../../infra/local/workspace-build.ts'
import { sharedFolder } from '../support/folder.ts'

describe('the build of the workspace at a local start', () => {
  const folder = sharedFolder()
  let root: string
  let said: string[]
  const page = () => join(root, 'apps/workspace/index.html')
  const build = () => buildWorkspace(root, (line) => said.push(line))

  beforeEach(async () => {
    root = join(folder, randomUUID())
    said = []
    await mkdir(join(root, 'apps/workspace'), { recursive: true })
    await mkdir(join(root, 'shared/oauth'), { recursive: true })
    await writeFile(join(root, 'package-lock.json'), '{}')
    await writeFile(page(), '<p>first</p>')
  })

  it('builds once for the same sources, and again for changed ones', async () => {
    const first = await build()
    assert.equal(await build(), first)
    assert.equal(said.length, 1)
    await writeFile(page(), '<p>second</p>')
    assert.match(await readFile(join(await build(), 'index.html'), 'utf8'), /second/)
    assert.equal(said.length, 2)
  })

  it('builds again when a file of shared has changed', async () => {
    const taken = join(root, 'shared/oauth/scopes.ts')
    await writeFile(join(root, 'package.json'), '{"type":"module","imports":{"#shared/*":"./shared/*"}}')
    await writeFile(page(), '<script type="module" src="/main.ts"></script>')
    await writeFile(
      join(root, 'apps/workspace/main.ts'),
      "import { SCOPES } from '#shared/oauth/scopes.ts'\nconsole.log(SCOPES)",
    )
    await writeFile(taken, "export const SCOPES = ['read']")
    const first = await build()
    await writeFile(taken, "export const SCOPES = ['read', 'write']")
    assert.notEqual(await build(), first)
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

  it('names what is wrong with a source', async () => {
    await writeFile(page(), '<script type="module" src="/gone.js"></script>')
    await assert.rejects(
      build(),
      (error) => error instanceof StartError && /could not be built: .*gone\.js/s.test(error.message),
    )
  })
})
