import assert from 'node:assert/strict'
import { sharedAdmin, succeeded } from '../support/admin.ts'
import { insertTestClient } from '../support/companies.ts'

describe('admin clients list', () => {
  const operator = sharedAdmin({ withAcme: true })

  it('shows all clients, newest first, however many there are', async () => {
    for (let i = 0; i < 205; i += 1) {
      const createdAt = new Date(Date.UTC(2026, 0, 1) + i * 1_000)
      await insertTestClient(operator.db, { vendorId: 'ven_acme', name: `Client ${i}`, createdAt })
    }
    const { json } = await succeeded(operator.admin(['clients', 'list', 'ven_acme', '--json']))
    assert.deepEqual([json.length, json[0].name, json[204].name], [205, 'Client 204', 'Client 0'])
  })
})
