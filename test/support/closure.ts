import { readFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const IMPORT = /(?:from|import) '((?:\.|#shared\/)[^']+)'|import\('((?:\.|#shared\/)[^']+)'\)/g

/** Every file of the project that a program loads, with its text, by its imports. */
export async function closureOf(
  file: string,
  found = new Map<string, string>(),
): Promise<Map<string, string>> {
  if (found.has(file)) return found
  const text = await readFile(join(ROOT, file), 'utf8')
  found.set(file, text)
  for (const [, target = '', dynamic = ''] of text.matchAll(IMPORT)) {
    const specifier = target || dynamic
    const path = specifier.startsWith('#shared/')
      ? specifier.slice(1)
      : normalize(join(dirname(file), specifier))
    await closureOf(path, found)
  }
  return found
}
