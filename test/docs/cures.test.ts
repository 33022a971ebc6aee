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
    for (const name of alerts) assert.ok(CAUSED_ALERTS.includes(name), name)
    for (const row of rows)
      assert.ok(
        BEGINNINGS.some((beginning) => row.startsWith(beginning)),
        row,
      )
  })

  it('cures only alerts that exist, each in one row', () => {
    assert.deepEqual(
      ALERTS.map(({ name }) => name),
      alerts,
    )
    for (const name of CAUSED_ALERTS) assert.ok(RULES.has(name), name)
    for (const beginning of BEGINNINGS)
      assert.equal(rows.filter((row) => row.startsWith(beginning)).length, 1, beginning)
    assert.equal(new Set(BEGINNINGS).size, BEGINNINGS.length)
  })
})
