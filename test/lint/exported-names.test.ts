import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

/** Names that are exported more than once and still to be mended. Add none. */
const TO_MEND = [
  'Answer',
  'Failure',
  'Fence',
  'Operator',
  'PersonChange',
  'Route',
  'Service',
  'ServiceOptions',
  'Subject',
  'Workload',
  'createService',
  'table',
]

/** Its types have the names of the schemas of the API's document, from which they are generated. */
const GENERATED = 'apps/workspace/src/api/contract.ts'
const EXPORT =
  /^export (?:default )?(?:declare )?(?:abstract )?(?:async )?(const|let|function\*?|class|interface|type|enum) (\w+)/gm

const exportedNames = (file: string, text: string): string[] =>
  [...text.matchAll(EXPORT)]
    .filter(([, kind]) => file !== GENERATED || kind !== 'type')
    .map(([, , name = '']) => name)

/** Returns the files of each name that is exported more than once. */
function duplicateNames(modules: Record<string, string>): Record<string, string[]> {
  const files = new Map<string, string[]>()
  for (const [file, text] of Object.entries(modules))
    for (const name of new Set(exportedNames(file, text))) files.set(name, [...(files.get(name) ?? []), file])
  return Object.fromEntries([...files].filter(([, places]) => places.length > 1))
}

describe('exported names', () => {
  it('exist once in the product', () => {
    const files = globSync('{apps,shared,infra}/**/*.{ts,tsx}', {
      cwd: ROOT,
      exclude: ['**/node_modules/**', '**/dist/**', 'apps/workspace/src/api/openapi.d.ts'],
    })
    assert.ok(files.length > 300, `only ${files.length} modules`)
    const modules = Object.fromEntries(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]))
    const unexpected = Object.entries(duplicateNames(modules)).filter(([name]) => !TO_MEND.includes(name))
    assert.deepEqual(Object.fromEntries(unexpected), {})
  })

  it('are reported when two modules export one', () => {
    const planted = {
      'apps/api/a.ts': 'export interface Fence {}\nexport const one = 1\n',
      'shared/b.ts': 'export type Fence = string\nconst one = 1\n',
      [GENERATED]: "export type Fence = Schemas['Fence']\n",
    }
    assert.deepEqual(duplicateNames(planted), { Fence: ['apps/api/a.ts', 'shared/b.ts'] })
  })
})
