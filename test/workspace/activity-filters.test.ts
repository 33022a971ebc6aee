import { strict as assert } from 'node:assert'
import { filterOf, filtersIn, NO_FILTERS, searchFor } from '../../apps/workspace/src/activity/filters.ts'

describe('workspace: the filters of Activity', () => {
  it('includes the whole last day of an activity filter', () => {
    const { from, to } = filterOf({ ...NO_FILTERS, from: '2026-11-22', to: '2026-11-22' })
    assert.deepEqual([from, to], [new Date(2026, 10, 22).toISOString(), new Date(2026, 10, 23).toISOString()])
  })

  it('finds the day after the last one of a month and of a year', () => {
    for (const [day, next] of [
      ['2026-02-28', new Date(2026, 2, 1)],
      ['2026-12-31', new Date(2027, 0, 1)],
    ] as const) {
      assert.equal(filterOf({ ...NO_FILTERS, to: day }).to, next.toISOString())
    }
  })

  it('asks the API for nothing that was not chosen', () => {
    assert.deepEqual(filterOf(NO_FILTERS), {})
  })

  it('keeps every filter in the address, and reads it back', () => {
    const chosen = {
      person: 'usr_1',
      kind: 'client.created',
      client: `cli_${'A'.repeat(22)}`,
      from: '2026-11-01',
      to: '2026-11-22',
    }
    assert.deepEqual(filtersIn(searchFor(chosen)), chosen)
    assert.equal(searchFor(NO_FILTERS).toString(), '')
  })

  it('ignores what no filter can mean', () => {
    const mistyped = 'person=me&kind=client.danced&client=cli_1&from=2026-13-99x&to=0000-00-00'
    assert.deepEqual(filtersIn(new URLSearchParams(mistyped)), NO_FILTERS)
    assert.deepEqual(filtersIn(new URLSearchParams('from=2026-02-29&to=2026-11-31')), NO_FILTERS)
  })
})
