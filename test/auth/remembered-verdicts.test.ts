import { strict as assert } from 'node:assert'
import type { ClientCredentials } from '#shared/oauth/client-credentials.ts'
import { newClientId } from '#shared/oauth/new-ids.ts'
import { createRememberingJudge, type GrantRequest } from '../../apps/auth/grant-judge.ts'
import { Refusal } from '../../apps/auth/refusal.ts'

const refusal = new Refusal({ status: 400, error: 'invalid_scope', description: 'no', reason: 'no' })

describe('a remembered verdict', () => {
  const record = (): ClientCredentials => ({
    clientId: newClientId(),
    vendorId: 'ven_x',
    scopes: ['analytics:read', 'boost:read'],
    secretHash: Buffer.alloc(32),
    status: 'Active',
  })
  const requestOf = (of: ClientCredentials, changes: Partial<GrantRequest> = {}): GrantRequest => ({
    record: of,
    grantType: 'client_credentials',
    scope: 'analytics:read',
    resource: 'https://api.test',
    ...changes,
  })

  /** A judge whose every call is counted. */
  function counted(verdict?: Refusal) {
    const asked: GrantRequest[] = []
    const judge = createRememberingJudge(async (request) => {
      asked.push(request)
      return verdict
    })
    return { judge, asked }
  }

  it('is asked for once for each combination of grant type, scope and resource', async () => {
    const { judge, asked } = counted()
    const client = record()
    const combinations = [
      {},
      { grantType: 'other' },
      { scope: 'boost:read' },
      { scope: 'boost:read analytics:read' },
      { resource: 'https://api.test/' },
      // Texts that would be the same if they were only joined.
      { grantType: 'a', scope: 'b c' },
      { grantType: 'a b', scope: 'c' },
    ]
    for (const changes of [...combinations, ...combinations])
      assert.equal(await judge(requestOf(client, changes)), undefined)
    assert.equal(asked.length, combinations.length)
  })

  it('rests on nothing but these: the judge gets no other input', async () => {
    const { judge, asked } = counted()
    await judge(requestOf(record()))
    assert.deepEqual(Object.keys(asked[0] ?? {}).sort(), ['grantType', 'record', 'resource', 'scope'])
  })

  it('is not taken for another record, even one of the same client', async () => {
    const { judge, asked } = counted()
    const client = record()
    await judge(requestOf(client))
    await judge(requestOf({ ...client }))
    await judge(requestOf(record()))
    assert.equal(asked.length, 3)
  })

  it('is never a refusal: that is judged each time', async () => {
    const { judge, asked } = counted(refusal)
    const client = record()
    for (const _ of [1, 2, 3]) assert.equal(await judge(requestOf(client)), refusal)
    assert.equal(asked.length, 3)
  })

  it('is bounded: a thousand distinct scope strings of one client are not all kept', async () => {
    const { judge, asked } = counted()
    const client = record()
    const strings = Array.from({ length: 1_000 }, (_, i) => `scope-${i}`)
    for (const scope of [...strings, ...strings]) await judge(requestOf(client, { scope }))
    assert.ok(asked.length >= 2_000 - 16, `${asked.length}`)
  })
})
