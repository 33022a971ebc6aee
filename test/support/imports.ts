import { dirname, join, normalize } from 'node:path'

const IMPORT = /(?:from|import) '((?:\.|#shared\/)[^']+)'|import\('((?:\.|#shared\/)[^']+)'\)/g

/** Returns the project's files that a module names in its imports, type-only ones included, from the root. */
export const parseImports = (file: string, text: string): string[] =>
  [...text.matchAll(IMPORT)]
    .map(([, target = '', dynamic = '']) => target || dynamic)
    .map((specifier) =>
      specifier.startsWith('#shared/') ? specifier.slice(1) : normalize(join(dirname(file), specifier)),
    )
