import assert from 'node:assert/strict'
import type { ReactNode } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { ACTIVITY_ACTIONS } from '../../apps/api/accounts/activity.ts'
import { ACTIONS } from '../../apps/workspace/src/activity/actions.ts'
import sentences from './activity-sentences.json' with { type: 'json' }

/** What is said of an action of Kim's, about the subject SUBJECT. */
function sentence(action: keyof typeof ACTIONS, parts: object = {}): string {
  const names = { subject: 'SUBJECT', client: 'CLIENT', person: 'PERSON', hostBefore: 'HOST' }
  const [, , write] = ACTIONS[action] as readonly [string, string, (parts: object) => ReactNode]
  const markup = renderToStaticMarkup(
    write({ ...names, detail: {}, before: {}, after: {}, replaced: {}, ...parts }),
  )
  return markup.replaceAll(/<[^>]+>/g, '')
}

const SENTENCES = sentences as [action: keyof typeof ACTIONS, parts: object, expected: string][]

describe('workspace: what Activity says of an action', () => {
  it('has a row here for each action', () =>
    assert.deepEqual(new Set(SENTENCES.map(([action]) => action)), new Set(ACTIVITY_ACTIONS)))

  for (const [action, parts, expected] of SENTENCES)
    it(`says that someone ${expected}`, () => assert.equal(sentence(action, parts), expected))
})
