import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onPath } from '../local/child.ts'
import { Failure } from '../local/failure.ts'
import { type Bill, bundledIn, installedBy, writeBill } from './release-bill.ts'
import { type Source, say, step } from './release-step.ts'

/** An image to build on, and the digest that this name has on this machine. */
export interface Base {
  name: string
  digest: string
}

/** What the images are built on: `node`, whose npm and shell stay out of them, and `web` for the screens. */
export interface Bases {
  node: Base
  web: Base
}

/**
 * Finds the images to build on. They are never pulled, so that the build uses the digests that it reports.
 * @throws Failure that says what to do if buildah or one of them is missing.
 */
export async function findBases(cwd: string, node: string, web: string): Promise<Bases> {
  if (!(await onPath('buildah')))
    throw new Failure(
      'The images need buildah: install it (apt install buildah), or leave them out with --no-images.',
    )
  const find = async (name: string): Promise<Base> => {
    const inspect = ['inspect', '--type', 'image', '--format', '{{.FromImageDigest}}', name]
    const digest = await step(cwd, 'buildah', ...inspect).catch((error) => {
      const pull = `run "buildah pull ${name}", or leave the images out with --no-images`
      throw new Failure(`There is no image ${name} on this machine to build on: ${pull}.`, { cause: error })
    })
    return { name, digest }
  }
  return { node: await find(node), web: await find(web) }
}

/** The digest of an image's manifest, by which registries know it. */
export interface Image {
  name: string
  digest: string
}

/**
 * Builds the four images, and writes each into the folder as an OCI archive with its bill, and images.yaml with their
 * digests for Kustomize. Returns them.
 */
export async function writeImages(
  source: Source,
  bases: Bases,
  folder: string,
  whole: Bill,
): Promise<Image[]> {
  const { tree, version, time_s } = source
  const images: Image[] = []
  for (const name of ['auth', 'api', 'operator', 'web']) {
    const image = `integration-${name}:${version}`
    const file = join(folder, `integration-${name}-${version}.oci.tar`)
    const on = [`--build-arg=NODE=${bases.node.name}`, `--build-arg=WEB=${bases.web.name}`]
    const options = ['--pull=never', '--format=oci', `--timestamp=${time_s}`, ...on, `--target=${name}`]
    say(`Building the image ${image}`)
    await step(tree, 'buildah', 'bud', ...options, '-f', 'infra/deploy/Containerfile', '-t', image, '.')
    const digestFile = join(tree, `${name}.digest`)
    await step(tree, 'buildah', 'push', `--digestfile=${digestFile}`, image, `oci-archive:${file}:${image}`)
    images.push({ name: `integration-${name}`, digest: (await readFile(digestFile, 'utf8')).trim() })
    const packages = name === 'web' ? await bundledIn(tree) : await installedIn(tree, image)
    await writeBill(file, packages, whole, source)
  }
  const lines = images.map(
    ({ name, digest }) =>
      `  - { name: ${name}, newName: registry.example.com/${name}, digest: '${digest}' }\n`,
  )
  await writeFile(join(folder, 'images.yaml'), `images:\n${lines.join('')}`)
  return images
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
