import assert from 'node:assert/strict'
import type { ReactNode } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { ACTIVITY_ACTIONS } from '../../apps/api/accounts/activity.ts'
import { ACTIONS } from '../../apps/workspace/src/activity/actions.ts'

/** What is said of an action of Kim's, about the subject SUBJECT. */
function sentence(action: keyof typeof ACTIONS, parts: object = {}): string {
  const names = { subject: 'SUBJECT', client: 'CLIENT', person: 'PERSON', hostBefore: 'HOST' }
  const [, , write] = ACTIONS[action] as readonly [string, string, (parts: object) => ReactNode]
  const markup = renderToStaticMarkup(
    write({ ...names, detail: {}, before: {}, after: {}, replaced: {}, ...parts }),
  )
  return markup.replaceAll(/<[^>]+>/g, '')
}

const admin = { role: 'admin' }
const SENTENCES: [action: keyof typeof ACTIONS, parts: object, expected: string][] = [
  ['client.created', {}, 'created the client CLIENT'],
  ['client.created', { replaced: { name: 'Old' } }, 'created the client CLIENT, which replaces Old'],
  ['client.renamed', { before: { name: 'Old' } }, 'renamed the client Old to CLIENT'],
  ['client.revoked', {}, 'revoked the client CLIENT'],
  [
    'client.revoked',
    { detail: { reason: 'secret_found' } },
    'revoked the client CLIENT, because its secret was found',
  ],
  [
    'client.secret_found',
    { detail: { source: 'a.example' } },
    'marked the secret of the client CLIENT as found at a.example',
  ],
  ['workload_issuer.keys_replaced', {}, 'replaced the keys of the issuer SUBJECT'],
  ['callback.saved', { after: { host: 'a' } }, 'saved the callback URL at SUBJECT'],
  [
    'callback.saved',
    { before: { host: 'a' }, after: { host: 'a' } },
    'saved the callback URL, which is still at SUBJECT',
  ],
  [
    'callback.saved',
    { before: { host: 'a' }, after: { host: 'b' } },
    'changed the callback URL from HOST to SUBJECT',
  ],
  ['company.created', {}, 'created the company'],
  ['person.added', { detail: admin }, 'added PERSON as Admin'],
  ['person.invited', { detail: admin }, 'invited PERSON as Admin'],
  ['person.joined', { detail: admin }, 'accepted the invitation and joined as Admin'],
  [
    'person.changed',
    { detail: { through: 'openid' }, before: admin, after: { role: 'member' } },
    'signed in with the OpenID provider, which changed the role from Admin to Member',
  ],
  ['person.changed', { before: { role: 'viewer' }, after: admin }, 'changed PERSON from Viewer to Admin'],
  ['person.changed', { before: admin, after: { role: 'owner' } }, 'made PERSON the owner'],
  ['person.changed', { before: admin, after: { ...admin, status: 'suspended' } }, 'suspended PERSON'],
  [
    'person.changed',
    { before: { ...admin, status: 'suspended' }, after: admin },
    'ended the suspension of PERSON',
  ],
  // Of a person who is erased, no detail is left.
  ['person.added', {}, 'added PERSON'],
  ['person.invited', {}, 'invited PERSON'],
  ['person.joined', {}, 'accepted the invitation and joined'],
  ['person.changed', {}, 'changed the role or status of PERSON'],
  ['person.removed', {}, 'removed PERSON'],
  ['invitation.withdrawn', {}, 'withdrew the invitation for PERSON'],
  ['person.linked', {}, 'linked this account to the OpenID provider'],
  ['person.unlinked', {}, 'unlinked the account of PERSON from the OpenID provider'],
  ['person.password_reset', {}, 'set a new password for PERSON and ended all sessions of that account'],
  ['person.removed', { detail: admin }, 'removed PERSON (Admin)'],
  ['person.erased', {}, 'erased what was stored about PERSON'],
  [
    'address.claimed',
    {},
    'ended the sessions of PERSON, because someone accepted another company’s invitation to the same address with another password',
  ],
  ['invitation.withdrawn', { detail: admin }, 'withdrew the invitation for PERSON (Admin)'],
  ['analytics.imported', { detail: { file: 'f.csv' } }, 'imported reported events from the file f.csv'],
]

describe('workspace: what Activity says of an action', () => {
  it('has a row here for each action', () =>
    assert.deepEqual(new Set(SENTENCES.map(([action]) => action)), new Set(ACTIVITY_ACTIONS)))

  for (const [action, parts, expected] of SENTENCES)
    it(`says that someone ${expected}`, () => assert.equal(sentence(action, parts), expected))
})
