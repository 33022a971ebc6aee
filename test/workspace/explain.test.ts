import { strict as assert } from 'node:assert'
import { ApiProblem, NoAnswer, Offline } from '../../apps/workspace/src/api/request.ts'
import { explain } from '../../apps/workspace/src/ui/explain.ts'

describe('workspace: what a form says of a change that failed', () => {
  const answered = (status: number) => new ApiProblem(new Response(null, { status }), {})
  for (const [what, error, title] of [
    ['it is refused', answered(409), 'It was not saved'],
    ['the service fails', answered(500), 'It may or may not have been saved'],
    ['the gateway has no answer', answered(502), 'It may or may not have been saved'],
    ['no answer comes', new NoAnswer('cut off'), 'It may or may not have been saved'],
    ['nothing is sent', new Offline(), 'You are offline'],
  ] as const)
    it(`says “${title}” if ${what}`, () => {
      const words = { title: 'It was not saved', uncertain: 'It may or may not have been saved' }
      assert.equal(explain(error, words)?.title, title)
    })
})
