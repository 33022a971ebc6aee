import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onPath } from '../local/child.ts'
import { Failure } from '../local/failure.ts'
import { type Bill, bundledIn, installedBy, writeBill } from './release-bill.ts'
import { type Source, step } from './release-step.ts'

/** The images to build on: `node`, whose npm and shell stay out of them, and `web` for the screens. */
export interface Bases {
  node: string
  web: string
}

/** @throws Failure that says what to do if buildah is missing, or one of the images, which are never pulled. */
export async function requireBases(cwd: string, bases: Bases): Promise<void> {
  if (!(await onPath('buildah')))
    throw new Failure(
      'The images need buildah: install it (apt install buildah), or leave them out with --no-images.',
    )
  for (const name of Object.values(bases))
    await step(cwd, 'buildah', 'inspect', '--type', 'image', name).catch((error) => {
      const pull = `run "buildah pull ${name}", or leave the images out with --no-images`
      throw new Failure(`There is no image ${name} on this machine to build on: ${pull}.`, { cause: error })
    })
}

/**
 * Builds the four images, and writes each into the folder as an OCI archive with its bill, and images.yaml for Kustomize
 * with the digests of their manifests, by which registries know them.
 */
export async function writeImages(source: Source, bases: Bases, folder: string, whole: Bill): Promise<void> {
  const { tree, version, time_s } = source
  const lines: string[] = []
  for (const name of ['auth', 'api', 'operator', 'web']) {
    const image = `integration-${name}:${version}`
    const file = join(folder, `integration-${name}-${version}.oci.tar`)
    const on = [`--build-arg=NODE=${bases.node}`, `--build-arg=WEB=${bases.web}`]
    const options = ['--pull=never', '--format=oci', `--timestamp=${time_s}`, ...on, `--target=${name}`]
    await step(tree, 'buildah', 'bud', ...options, '-f', 'infra/deploy/Containerfile', '-t', image, '.')
    const digestFile = join(tree, `${name}.digest`)
    await step(tree, 'buildah', 'push', `--digestfile=${digestFile}`, image, `oci-archive:${file}:${image}`)
    const digest = (await readFile(digestFile, 'utf8')).trim()
    lines.push(
      `  - { name: integration-${name}, newName: registry.example.com/integration-${name}, digest: '${digest}' }\n`,
    )
    const packages = name === 'web' ? await bundledIn(tree) : await installedIn(tree, image)
    await writeBill(file, packages, whole, source)
  }
  await writeFile(join(folder, 'images.yaml'), `images:\n${lines.join('')}`)
}

async function installedIn(cwd: string, image: string): Promise<Set<string>> {
  const container = await step(cwd, 'buildah', 'from', '--pull=never', image)
  try {
    const print = `process.stdout.write(fs.readFileSync('node_modules/.package-lock.json'))`
    return installedBy(await step(cwd, 'buildah', 'run', container, '--', 'node', '--eval', print))
  } finally {
    await step(cwd, 'buildah', 'rm', container)
  }
}
