import assert from 'node:assert/strict'
import { ALERTS, FAILURES, RULES } from '../trials/cures/documents.ts'
import { ELSEWHERE } from '../trials/cures/elsewhere.ts'
import { REQUEST_CURES } from '../trials/cures/request-cures.ts'
import { STORE_CURES } from '../trials/cures/store-cures.ts'

const CURES = [...STORE_CURES, ...REQUEST_CURES]
const CAUSED_ALERTS = CURES.flatMap(({ alerts = [] }) => alerts)
/** How the rows begin that a case causes or a sentence is about. */
const BEGINNINGS = [...CURES.flatMap(({ rows = [] }) => rows), ...Object.keys(ELSEWHERE)]

describe('the cures in failures.md', () => {
  const alerts = [...RULES.keys()]
  const rows = FAILURES.map(({ name }) => name)

  it('follows each cure by `npm run test:cures`, or says why not', () => {
    assert.ok(alerts.length > 20 && rows.length > 15)
    assert.deepEqual(
      alerts.filter((name) => !CAUSED_ALERTS.includes(name)),
      [],
    )
    assert.deepEqual(
      rows.filter((row) => !BEGINNINGS.some((beginning) => row.startsWith(beginning))),
      [],
    )
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
    const found = (beginning: string) => rows.filter((row) => row.startsWith(beginning)).length
    assert.deepEqual(
      BEGINNINGS.map((beginning) => [beginning, found(beginning)]),
      BEGINNINGS.map((beginning) => [beginning, 1]),
    )
    assert.equal(new Set(BEGINNINGS).size, BEGINNINGS.length)
  })
})
