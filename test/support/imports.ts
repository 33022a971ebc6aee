import { dirname, join, normalize } from 'node:path'
import { read } from './project.ts'

const IMPORT = /(?:from|import) '((?:\.|#shared\/)[^']+)'|import\('((?:\.|#shared\/)[^']+)'\)/g

/** Returns the project's files that a module names in its imports, type-only ones included, from the root. */
export const parseImports = (file: string, text: string): string[] =>
  [...text.matchAll(IMPORT)]
    .map(([, target = '', dynamic = '']) => target || dynamic)
    .map((specifier) =>
      specifier.startsWith('#shared/') ? specifier.slice(1) : normalize(join(dirname(file), specifier)),
    )

/** Returns every file of the project that a program loads by its imports, with its text. */
export async function importClosure(file: string, found = new Map<string, string>()) {
  if (found.has(file)) return found
  const text = read(file)
  found.set(file, text)
  for (const target of parseImports(file, text)) await importClosure(target, found)
  return found
}
