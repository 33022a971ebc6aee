import { readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type Source, sha256Of, step } from './release-step.ts'

/** The parts of npm's CycloneDX document that depend on what is shipped. */
export interface Bill {
  serialNumber: string
  metadata: { timestamp: string; component: object }
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

/** Returns a UUID of version 8 with bits of the hash, so that each document has a number of its own, always the same. */
const serialNumber = (sha256: string): string =>
  `urn:uuid:${sha256.slice(0, 8)}-${sha256.slice(8, 12)}-8${sha256.slice(13, 16)}-8${sha256.slice(17, 20)}-${sha256.slice(20, 32)}`

/**
 * Writes the bill of a file beside it, with the commit's time. npm's own mark for development is left out, because it is
 * also on a shipped package that a development package needs.
 */
export async function writeBill(
  file: string,
  packages: Set<string>,
  whole: Bill,
  { time_s }: Pick<Source, 'time_s'>,
): Promise<void> {
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
  const content = await sha256Of(file)
  const metadata = {
    ...whole.metadata,
    timestamp: new Date(time_s * 1_000).toISOString(),
    component: {
      ...whole.metadata.component,
      type: 'application',
      name: basename(file),
      hashes: [{ alg: 'SHA-256', content }],
    },
  }
  const bill = { ...whole, serialNumber: serialNumber(content), metadata, components, dependencies }
  await writeFile(`${file}.cdx.json`, JSON.stringify(bill, null, 2))
}
