import { readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { sha256Of, step } from './release-step.ts'

/** The parts of npm's CycloneDX document that depend on what is shipped. */
export interface Bill {
  metadata: { component: object }
  components: { 'bom-ref': string; properties?: { name: string }[] }[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

/** Describes every package in the tree, also those for development, some of which are bundled into the screens. */
export const wholeBill = async (tree: string): Promise<Bill> =>
  JSON.parse(await step(tree, 'npm', 'sbom', '--sbom-format=cyclonedx'))

/** Returns the references, `name@version`, of what npm wrote down as installed (node_modules/.package-lock.json). */
export function installedBy(lock: string): Set<string> {
  const packages: [path: string, { name?: string; version: string }][] = Object.entries(
    JSON.parse(lock).packages,
  )
  return new Set(
    packages.map(([path, { name, version }]) => `${name ?? path.split('node_modules/').at(-1)}@${version}`),
  )
}

/** Returns the references of the packages whose code or fonts Vite put into the screens, from its list of licences. */
export async function bundledIn(tree: string): Promise<Set<string>> {
  const list = await readFile(join(tree, 'apps/workspace/dist/licenses.md'), 'utf8')
  return new Set(
    [...list.matchAll(/^## (\S+) - (\S+) \(/gm)].map(([, name, version]) => `${name}@${version}`),
  )
}

/**
 * Writes the bill of a file beside it. npm's own mark for development is left out, because it is also on a shipped
 * package that a development package needs.
 */
export async function writeBill(file: string, packages: Set<string>, whole: Bill): Promise<void> {
  const components = whole.components
    .filter((component) => packages.has(component['bom-ref']))
    .map(({ properties = [], ...component }) => ({
      ...component,
      properties: properties.filter(({ name }) => name !== 'cdx:npm:package:development'),
    }))
  if (components.length !== packages.size)
    throw new Error(
      `${basename(file)} holds ${packages.size} packages, of which npm knows ${components.length}`,
    )
  const dependencies = whole.dependencies
    .filter(({ ref }, i) => i === 0 || packages.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => packages.has(other)) }))
  const component = {
    ...whole.metadata.component,
    type: 'application',
    name: basename(file),
    hashes: [{ alg: 'SHA-256', content: await sha256Of(file) }],
  }
  const bill = { ...whole, metadata: { ...whole.metadata, component }, components, dependencies }
  await writeFile(`${file}.cdx.json`, JSON.stringify(bill, null, 2))
}
