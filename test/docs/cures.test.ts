import assert from 'node:assert/strict'
import { ALERTS, FAILURES, RULES } from '../trials/cures/documents.ts'
import { ELSEWHERE } from '../trials/cures/elsewhere.ts'
import { REQUEST_CURES } from '../trials/cures/request-cures.ts'
import { STORE_CURES } from '../trials/cures/store-cures.ts'

const CURES = [...STORE_CURES, ...REQUEST_CURES]
const CAUSED_ALERTS = CURES.flatMap(({ alerts = [] }) => alerts)
const CAUSED_ROWS = CURES.flatMap(({ rows = [] }) => rows)

/** Returns the alerts that no case causes, and the rows that neither a case nor a sentence is about. */
function uncovered(alerts: string[], rows: string[]): string[] {
  const beginnings = [...CAUSED_ROWS, ...Object.keys(ELSEWHERE)]
  return [
    ...alerts.filter((name) => !CAUSED_ALERTS.includes(name)),
    ...rows.filter((row) => !beginnings.some((beginning) => row.startsWith(beginning))),
  ]
}

describe('the cures in failures.md', () => {
  const alerts = [...RULES.keys()]
  const rows = FAILURES.map(({ name }) => name)

  it('follows each cure by `npm run test:cures`, or says why not', () => {
    assert.ok(alerts.length > 20 && rows.length > 15)
    assert.deepEqual(uncovered(alerts, rows), [])
  })

  it('reports an alert and a failure that have no cure', () => {
    const added = ['IntegrationMoonFull', 'the moon is full']
    assert.deepEqual(uncovered([...alerts, 'IntegrationMoonFull'], [...rows, 'the moon is full']), added)
  })

  it('cures only alerts that exist, each in one row', () => {
    assert.deepEqual(
      ALERTS.map(({ name }) => name),
      alerts,
    )
    assert.deepEqual(
      CAUSED_ALERTS.filter((name) => !RULES.has(name)),
      [],
    )
    const beginnings = [...CAUSED_ROWS, ...Object.keys(ELSEWHERE)]
    const found = (beginning: string) => rows.filter((row) => row.startsWith(beginning)).length
    assert.deepEqual(
      beginnings.map((beginning) => [beginning, found(beginning)]),
      beginnings.map((beginning) => [beginning, 1]),
    )
    assert.equal(new Set(beginnings).size, beginnings.length)
  })
})
