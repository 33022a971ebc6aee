import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The folder of the project. */
export const ROOT = join(import.meta.dirname, '../..')

/** Returns the text of a file, by its path in the project. */
export const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

/** Returns the paths in the project that match a pattern, but what is installed, built or generated. */
export const find = (pattern: string | string[]): string[] =>
  globSync(pattern, {
    cwd: ROOT,
    exclude: ['**/dist/**', '**/node_modules/**', 'apps/workspace/src/api/openapi.d.ts'],
  })
