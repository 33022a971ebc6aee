import assert from 'node:assert/strict'
import { runAdmin, succeeded } from '../support/admin.ts'
import { sharedApi } from '../support/api.ts'
import { everything, holding } from '../support/everything.ts'

describe('admin client erase-name', () => {
  const api = sharedApi()

  it('leaves no name that the client had anywhere, but its later ones and everything else', async () => {
    const { vendorId } = await api.createCompany()
    const { sessionToken: token } = await api.createPerson({ vendorId, role: 'owner' })
    const path = `/v1/vendor/${vendorId}/oauth-clients`
    const create = async (name: string) =>
      (await api.request('POST', path, { token, body: { name, scopes: ['boost:read'] } })).json.clientId
    const [clientId, otherId] = [await create('Laptop of Unmistakable'), await create('Another client')]
    const rename = (name: string) => api.request('PATCH', `${path}/${clientId}`, { token, body: { name } })
    await rename('Unmistakable, again')
    await rename('Harmless')
    const env = { DATABASE_URL: api.database.operatorUrl, REDIS_URL: api.redis.url('api') }
    const erase = (...ids: string[]) => runAdmin(['client', 'erase-name', ...ids, '--yes'], { env })
    assert.equal((await erase('ven_other', clientId)).code, 1)
    assert.ok(holding(await everything(api.db, api.redis), 'Unmistakable').length > 0)
    const { stdout } = await succeeded(erase(vendorId, clientId))
    assert.equal(stdout, `The name of ${clientId} is erased, also from 3 entries of the activity.\n`)
    await rename('Later')
    assert.deepEqual(holding(await everything(api.db, api.redis), 'Unmistakable'), [])
    const { entries } = (await api.request('GET', `/v1/vendor/${vendorId}/activity`, { token })).json
    assert.deepEqual(
      entries.map(({ action, subject, detail }: Record<string, unknown>) => [action, subject, detail]),
      [
        ['client.renamed', clientId, { before: { name: 'Erased name' }, after: { name: 'Later' } }],
        ['client.name_erased', clientId, {}],
        ['client.renamed', clientId, { before: {}, after: {} }],
        ['client.renamed', clientId, { before: {}, after: {} }],
        ['client.created', otherId, { name: 'Another client', scopes: ['boost:read'] }],
        ['client.created', clientId, { scopes: ['boost:read'] }],
      ],
    )
  })
})
