import assert from 'node:assert/strict'
import { hashSecret } from '#shared/oauth/ids.ts'
import { newClientId } from '../../apps/api/accounts/new-ids.ts'
import { insertClient, markClientRevoked } from '../../apps/api/clients/records.ts'
import { sharedAdmin, succeeded } from '../support/admin.ts'

describe('admin clients list', () => {
  const operator = sharedAdmin({ withAcme: true })
  const secretHash = hashSecret('ias_never-shown')
  const key = { publicKey: { kty: 'OKP' }, keyThumbprint: 'k'.repeat(43) }
  before(async () => {
    for (let i = 0; i < 205; i += 1)
      await insertClient(operator.db, {
        clientId: newClientId(),
        vendorId: 'ven_acme',
        name: `Client ${i}`,
        scopes: ['analytics:read', 'boost:read'],
        authenticatesBy: i === 7 ? key : { secretHash },
        expiresAt: i === 7 ? new Date(Date.UTC(2027, 0, 1)) : undefined,
        createdBy: null,
        createdAt: new Date(Date.UTC(2026, 0, 1) + i * 1_000),
      })
    const { client_id } = await operator.db('oauth_clients').where({ name: 'Client 7' }).first()
    await markClientRevoked(operator.db, { vendorId: 'ven_acme', clientId: client_id, revokedBy: null })
  })

  it('shows all clients, newest first, and nothing of a secret', async () => {
    const { stdout, json } = await succeeded(operator.admin(['clients', 'list', 'ven_acme', '--json']))
    assert.deepEqual([json.length, json[0].name, json[204].name], [205, 'Client 204', 'Client 0'])
    const members =
      'clientId name scopes keyThumbprint status createdAt createdBy expiresAt revokedAt revokedBy'
    assert.equal(Object.keys(json[0]).join(' '), members)
    assert.ok(!stdout.includes(secretHash.toString('hex')) && !/secret/i.test(stdout))
  })

  it('shows people a table of clients, times in UTC', async () => {
    const { stdout } = await operator.admin(['clients', 'list', 'ven_acme', '--status', 'Revoked'])
    const [titles = '', row = '', ...rest] = stdout.trim().split('\n')
    assert.match(titles, /^CLIENT ID +STATUS +NAME +SCOPES +KEY +CREATED +EXPIRES +REVOKED$/)
    assert.match(
      row,
      /^cli_\w{22} +Revoked +Client 7 +analytics:read boost:read +k{43} +2026-01-01 00:00Z +2027-01-01 00:00Z +\d{4}-\d\d-\d\d \d\d:\d\dZ$/,
    )
    assert.deepEqual(rest, [])
  })
})
