import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../..')
const OUTPUT_MAX_BYTES = 64 * 1_024 * 1_024

interface Component {
  'bom-ref': string
  properties?: { name: string; value: string }[]
  name: string
  version: string
  licenses?: { license?: { id?: string; name?: string }; expression?: string }[]
}

/*
 * Writes the contents of a release to the given folder (default `release`): sbom.json (CycloneDX) and licences.md. Both
 * cover only the packages that are shipped.
 */
const folder = resolve(process.argv[2] ?? join(ROOT, 'release'))
const { stdout } = await run('npm', ['sbom', '--sbom-format=cyclonedx'], {
  cwd: ROOT,
  maxBuffer: OUTPUT_MAX_BYTES,
})
const bill: { components: Component[]; dependencies: { ref: string; dependsOn: string[] }[] } =
  JSON.parse(stdout)
/** npm's own --omit=dev also leaves out a shipped package that a development package depends on. */
const components = bill.components.filter(
  ({ properties = [] }) => !properties.some(({ name }) => name === 'cdx:npm:package:development'),
)
const left = new Set(components.map((component) => component['bom-ref']))
const dependencies = bill.dependencies
  .filter(({ ref }, i) => i === 0 || left.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => left.has(other)) }))
const rows = components
  .map(({ name, version, licenses = [] }) => {
    const names = licenses.map(({ license, expression }) => expression ?? license?.id ?? license?.name ?? '?')
    return `| ${name} | ${version} | ${names.join(', ') || 'none named'} |`
  })
  .sort()
await mkdir(folder, { recursive: true })
await writeFile(join(folder, 'sbom.json'), JSON.stringify({ ...bill, components, dependencies }, null, 2))
await writeFile(
  join(folder, 'licences.md'),
  ['# Licences of the packages', '', '| package | version | licence |', '|---|---|---|', ...rows, ''].join(
    '\n',
  ),
)
process.stdout.write(`${components.length} packages: ${join(folder, 'sbom.json')}, licences.md\n`)
