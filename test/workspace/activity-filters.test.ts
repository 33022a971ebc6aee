import { strict as assert } from 'node:assert'
import { FILTERS, NO_FILTERS, toActivityQuery } from '../../apps/workspace/src/activity/filters.ts'
import { readSearch, writeSearch } from '../../apps/workspace/src/ui/search.ts'

describe('workspace: the filters of Activity', () => {
  for (const [zone, day, start, end] of [
    ['Europe/Berlin', '2026-12-31', '2026-12-30T23:00:00.000Z', '2026-12-31T23:00:00.000Z'],
    // Days of 23 and of 25 hours.
    ['America/New_York', '2026-03-08', '2026-03-08T05:00:00.000Z', '2026-03-09T04:00:00.000Z'],
    ['America/New_York', '2026-11-01', '2026-11-01T04:00:00.000Z', '2026-11-02T05:00:00.000Z'],
  ] as const)
    it(`asks for the whole of ${day} in ${zone}`, () => {
      const { from, to } = toActivityQuery({ ...NO_FILTERS, from: day, to: day }, zone)
      assert.deepEqual([from, to], [start, end])
    })

  it('keeps every filter in the address, and reads it back', () => {
    const chosen = {
      person: 'usr_1',
      kind: 'client.created',
      client: `cli_${'A'.repeat(22)}`,
      from: '2026-11-01',
      to: '2026-11-22',
    }
    assert.deepEqual(readSearch(writeSearch(chosen, FILTERS), FILTERS), chosen)
    assert.equal(writeSearch(NO_FILTERS, FILTERS).toString(), '')
  })

  it('ignores what no filter can mean', () => {
    for (const mistyped of [
      'person=me&kind=client.danced&client=cli_1&from=2026-13-99x&to=0000-00-00',
      'kind=toString&from=2026-02-29&to=2026-11-31',
      'from=0000-01-01',
    ])
      assert.deepEqual(readSearch(new URLSearchParams(mistyped), FILTERS), NO_FILTERS)
  })
})
