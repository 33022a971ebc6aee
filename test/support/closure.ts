import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseImports } from './imports.ts'

const ROOT = join(import.meta.dirname, '../..')

/** Returns every file of the project that a program loads by its imports, with its text. */
export async function importClosure(file: string, found = new Map<string, string>()) {
  if (found.has(file)) return found
  const text = await readFile(join(ROOT, file), 'utf8')
  found.set(file, text)
  for (const target of parseImports(file, text)) await importClosure(target, found)
  return found
}
