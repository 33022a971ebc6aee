import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bases, Image } from './release-images.ts'
import { type Source, sha256Of, step } from './release-step.ts'

const NAME = 'integration-access-service'

/**
 * Writes provenance.json about every file in the folder and the manifest of each image: an in-toto statement with a SLSA
 * v1 provenance. It claims build level 1: the builder is this command, on a machine that no one else vouches for.
 */
export async function writeProvenance(
  { tree, version, commit }: Source,
  { bases, images }: { bases: Bases | undefined; images: Image[] },
  folder: string,
): Promise<void> {
  const sha256 = (digest: string) => ({ sha256: digest.replace('sha256:', '') })
  const subject = images.map(({ name, digest }) => ({ name, digest: sha256(digest) }))
  for (const name of (await readdir(folder)).sort())
    subject.push({ name, digest: { sha256: await sha256Of(join(folder, name)) } })
  const baseImages = Object.values(bases ?? {}).map(({ name, digest }) => ({
    name,
    digest: sha256(digest),
  }))
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject,
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: `pkg:generic/${NAME}@${version}#infra/runbook/release.md`,
        externalParameters: {
          tag: version,
          images: bases ? { base: bases.node.name, webBase: bases.web.name } : 'left out',
        },
        internalParameters: { platform: `${process.platform}-${process.arch}` },
        resolvedDependencies: [
          { name: 'source', digest: { gitCommit: commit } },
          { name: 'package-lock.json', digest: { sha256: await sha256Of(join(tree, 'package-lock.json')) } },
          ...baseImages,
        ],
      },
      runDetails: {
        builder: {
          id: `pkg:generic/${NAME}@${version}#infra/deploy/release-command.ts`,
          version: {
            node: process.versions.node,
            npm: await step(tree, 'npm', '--version'),
            ...(bases && { buildah: await step(tree, 'buildah', '--version') }),
          },
          integration_slsaBuildLevel: 1,
        },
      },
    },
  }
  await writeFile(join(folder, 'provenance.json'), `${JSON.stringify(statement, null, 2)}\n`)
}

/** Writes SHA256SUMS, as sha256sum checks it, about every file in the folder. Returns its path. */
export async function writeSums(folder: string): Promise<string> {
  const lines: string[] = []
  for (const name of (await readdir(folder)).sort())
    lines.push(`${await sha256Of(join(folder, name))}  ${name}\n`)
  const file = join(folder, 'SHA256SUMS')
  await writeFile(file, lines.join(''))
  return file
}
