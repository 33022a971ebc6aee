import assert from 'node:assert/strict'
import { type Person, sharedApi } from '../support/api.ts'
import { assertProblem } from '../support/problem.ts'

const ROUTES = [
  ['GET', 'oauth-clients'],
  ['POST', 'oauth-clients'],
  ['GET', `oauth-clients/cli_${'a'.repeat(22)}`],
  ['PATCH', `oauth-clients/cli_${'a'.repeat(22)}`],
  ['GET', `oauth-clients/cli_${'a'.repeat(22)}/usage`],
  ['GET', `oauth-clients/cli_${'a'.repeat(22)}/requests`],
  ['POST', `oauth-clients/cli_${'a'.repeat(22)}/revoke`],
  ['GET', 'analytics/daily'],
  ['GET', 'activity'],
  ['GET', 'people'],
  ['GET', 'refusals'],
  ['GET', 'refusals/some-request'],
] as const

describe('who may act for a company', () => {
  const api = sharedApi()
  let vendorId: string
  let other: string
  before(async () => {
    ;({ vendorId } = await api.createCompany())
    ;({ vendorId: other } = await api.createCompany())
  })

  const call = (method: string, route: string, person?: Person, company = vendorId) =>
    api.request(method, `/v1/vendor/${company}/${route}`, person ? { token: person.sessionToken } : {})

  for (const [method, route] of ROUTES) {
    describe(`${method} /v1/vendor/{vendor_id}/${route}`, () => {
      it('allows the owner and an active admin', async () => {
        const company = await api.createCompany()
        for (const role of ['owner', 'admin'] as const) {
          const person = await api.createPerson({ vendorId: company.vendorId, role })
          const { status } = await call(method, route, person, company.vendorId)
          assert.ok([200, 404, 415].includes(status), String(status))
        }
      })

      it('refuses everyone else, with the same bytes whether or not the company exists', async () => {
        const stranger = await api.createPerson()
        const refused = [
          await call(method, route, await api.createPerson({ vendorId, role: 'member' })),
          await call(
            method,
            route,
            await api.createPerson({ vendorId, role: 'member', status: 'suspended' }),
          ),
          await call(method, route, await api.createPerson({ vendorId, role: 'admin', status: 'suspended' })),
          await call(method, route, stranger),
          await call(method, route, stranger, 'ven_nobody'),
          await call(method, route, stranger, 'x'),
          await call(method, route, stranger, '%00'),
          await call(method, route, stranger, `ven_${'a'.repeat(5_000)}`),
          await call(method, route, await api.createPerson({ vendorId: other, role: 'admin' })),
        ]
        const plain = refused.map((response) => {
          assertProblem(response, 'forbidden')
          return response.text.replace(response.json.requestId, '')
        })
        for (const text of plain) assert.equal(text, plain[0])
      })

      it('requires a session first, whatever the company or the body', async () => {
        for (const company of [vendorId, 'ven_nobody']) {
          assertProblem(await call(method, route, undefined, company), 'unauthenticated')
        }
      })

      it('reads role and status on every request', async () => {
        const person = await api.createPerson({ vendorId, role: 'admin' })
        const set = (change: { role?: string; status?: string }) =>
          api.db('memberships').where({ user_id: person.userId }).update(change)
        assert.notEqual((await call(method, route, person)).status, 403)
        await set({ status: 'suspended' })
        assert.equal((await call(method, route, person)).status, 403)
        await set({ status: 'active' })
        assert.notEqual((await call(method, route, person)).status, 403)
        await set({ role: 'member' })
        assert.equal((await call(method, route, person)).status, 403)
        await api.db('memberships').where({ user_id: person.userId }).delete()
        assert.equal((await call(method, route, person)).status, 403)
      })
    })
  }
})
