import assert from 'node:assert/strict'
import { parseYaml } from '../support/deployment.ts'
import { importClosure, parseImports } from '../support/imports.ts'
import { find, read } from '../support/project.ts'

const { houses: HOUSES, neighbours: NEIGHBOURS } = parseYaml(read('test/lint/rooms.yaml')) as {
  houses: Record<string, string[][]>
  neighbours: Record<string, string>
}

type Graph = Map<string, string[]>

/** Returns one way round for each circle that a walk along the imports runs into. */
function findCircles(graph: Graph): string[] {
  const circles: string[] = []
  const done = new Set<string>()
  const walk = (file: string, way: string[]): void => {
    const met = way.indexOf(file)
    if (met >= 0) circles.push([...way.slice(met), file].join(' → '))
    if (met >= 0 || done.has(file)) return
    for (const target of graph.get(file) ?? []) walk(target, [...way, file])
    done.add(file)
  }
  for (const file of graph.keys()) walk(file, [])
  return circles
}

/** Returns each import of another room that does not lead down, and each file that lies in no room. */
function findFaults(graph: Graph, house: string, floors: string[][]): string[] {
  const findRoom = (file: string): string | undefined => {
    if (!file.startsWith(`${house}/`)) return undefined
    const path = file.slice(house.length + 1)
    return path.includes('/') ? path.slice(0, path.indexOf('/')) : ''
  }
  const findFloor = (room: string): number => floors.findIndex((rooms) => rooms.includes(room))
  return [...graph].flatMap(([file, targets]) => {
    const room = findRoom(file)
    if (room === undefined) return []
    if (findFloor(room) < 0) return [`${file} is in no room`]
    return targets
      .filter((target) => {
        const other = findRoom(target)
        return other !== undefined && other !== room && findFloor(other) >= findFloor(room)
      })
      .map((target) => `${file} → ${target}`)
  })
}

/** Returns each import of a file that the folders around the importing one neither hold nor may import. */
const findStrays = (graph: Graph): string[] =>
  [...graph].flatMap(([file, targets]) => {
    const around = Object.entries(NEIGHBOURS).filter(([folder]) => `${file}/`.startsWith(`${folder}/`))
    return targets
      .filter((target) =>
        around.every(
          ([folder, allowed]) => !target.startsWith(`${folder}/`) && !new RegExp(allowed).test(target),
        ),
      )
      .map((target) => `${file} → ${target}`)
  })

describe('the rooms', () => {
  const files = find('{apps,shared,infra}/**/*.{ts,tsx}')
  const graph: Graph = new Map(files.map((file) => [file, parseImports(file, read(file))]))

  it('hold no modules that import each other in a circle, not even for their types', () => {
    assert.ok(graph.size > 300, `only ${graph.size} modules`)
    assert.deepEqual(findCircles(graph), [])
  })

  for (const [house, floors] of Object.entries(HOUSES))
    it(`import downward in ${house}`, () => assert.deepEqual(findFaults(graph, house, floors), []))

  it('import of other folders only what those may', () => assert.deepEqual(findStrays(graph), []))

  it('of shared, but for those of verifiers and screens, hold exactly what apps/auth loads', async () => {
    const inShared = (file: string) => new RegExp(NEIGHBOURS['apps/auth'] ?? '^$').test(file)
    const loaded = [...(await importClosure('apps/auth/main.ts')).keys()]
    assert.deepEqual(loaded.filter(inShared).sort(), [...graph.keys()].filter(inShared).sort())
  })
})
