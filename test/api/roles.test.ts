import assert from 'node:assert/strict'
import type { CompanyRole, MembershipStatus } from '../../apps/api/accounts/people.ts'
import { ROUTES } from '../../apps/api/routes.ts'
import { freshOwner, sharedApi, type TestPerson } from '../support/api.ts'
import { assertAlike, assertProblem } from '../support/problem.ts'

const COMPANY = '/v1/vendor/:vendorId/'
/** Every route of a company, found by path or access: its method and what follows the company in its path. */
const PUBLISHED = ROUTES.filter(({ path, access }) => path.startsWith(COMPANY) || access.people).map(
  ({ method, path }) => [method.toUpperCase(), path.replace(COMPANY, '')] as const,
)

const PEOPLE = {
  owner: ['owner', 'active'],
  admin: ['admin', 'active'],
  viewer: ['viewer', 'active'],
  member: ['member', 'active'],
  'suspended admin': ['admin', 'suspended'],
  'suspended viewer': ['viewer', 'suspended'],
  'suspended member': ['member', 'suspended'],
} as const satisfies Record<string, [CompanyRole, MembershipStatus]>
type Who = keyof typeof PEOPLE

/** Who may call each route. No one else may, and a route that is not in it fails the tests. */
const CHANGERS = ['owner', 'admin'] as const
const READERS = [...CHANGERS, 'viewer'] as const
const ALLOWED: Record<string, readonly Who[]> = {
  'GET oauth-clients': READERS,
  'GET oauth-clients/:clientId': READERS,
  'GET oauth-clients/:clientId/usage': READERS,
  'GET oauth-clients/:clientId/requests': READERS,
  'GET oauth-clients/:clientId/rotation': READERS,
  'GET refusals': READERS,
  'GET refusals/:requestId': READERS,
  'GET callback-url': READERS,
  'GET analytics/daily': READERS,
  'POST oauth-clients': CHANGERS,
  'PATCH oauth-clients/:clientId': CHANGERS,
  'POST oauth-clients/:clientId/revoke': CHANGERS,
  'PATCH callback-url': CHANGERS,
  'POST callback-test': CHANGERS,
  'GET workload-issuers': CHANGERS,
  'PUT workload-issuers': CHANGERS,
  'GET activity': CHANGERS,
  'GET people': CHANGERS,
  'POST people': ['owner'],
  'PATCH people/:userId': ['owner'],
  'DELETE people/:userId': ['owner'],
}

/** Bodies of the changes that name something of the company in their path. */
const BODIES: Record<string, object> = {
  'PATCH oauth-clients/:clientId': { name: 'Mine' },
  'PATCH people/:userId': { role: 'member' },
}

const pathToNothing = (path: string) =>
  path.replace(':clientId', `cli_${'a'.repeat(22)}`).replaceAll(/:\w+/g, 'nothing')

describe('who may act for a company', () => {
  const api = sharedApi({ env: { RATE_CHANGES_PER_COMPANY: '1000/60' } })
  const owner = freshOwner(api)
  const colleague = async (who: Who): Promise<TestPerson> => {
    const [role, status] = PEOPLE[who]
    return role === 'owner' ? owner : api.createPerson({ vendorId: owner.vendorId, role, status })
  }

  it('is decided for every route of a company, and for no other', () =>
    assert.deepEqual(PUBLISHED.map((route) => route.join(' ')).sort(), Object.keys(ALLOWED).sort()))

  for (const [method, path] of PUBLISHED) {
    const allowed = ALLOWED[`${method} ${path}`] ?? []
    const call = (token: string | undefined, company = owner.vendorId) =>
      api.request(method, `/v1/vendor/${company}/${pathToNothing(path)}`, token ? { token } : {})
    const allows = async ({ sessionToken }: TestPerson) => {
      const { status } = await call(sessionToken)
      assert.ok([200, 403, 404, 409, 415].includes(status), String(status))
      return status !== 403
    }

    describe(`${method} ${COMPANY}${path}`, () => {
      for (const who of Object.keys(PEOPLE) as Who[])
        it(`${allowed.includes(who) ? 'allows' : 'refuses'} the ${who}`, async () =>
          assert.equal(await allows(await colleague(who)), allowed.includes(who)))

      it('refuses everyone else, with the same bytes whether or not the company exists', async () => {
        const stranger = await api.createOwner()
        const refused = [
          await call((await colleague('member')).sessionToken),
          await call((await colleague('suspended viewer')).sessionToken),
          await call((await colleague('suspended admin')).sessionToken),
          await call((await api.createPerson()).sessionToken),
        ]
        for (const company of [owner.vendorId, 'ven_nobody', 'x', '%00', `ven_${'a'.repeat(5_000)}`])
          refused.push(await call(stranger.sessionToken, company))
        assertAlike(refused, 'forbidden')
      })

      it('requires a session first, whatever the company, the body or the token', async () => {
        const { clientId, secret } = await owner.createClient()
        const token = await api.issuer.token({ clientId, vendorId: owner.vendorId })
        for (const other of [undefined, 'ses_wrong', secret, token])
          for (const company of [owner.vendorId, 'ven_nobody'])
            assertProblem(await call(other, company), 'unauthenticated')
      })

      it('reads role and status on every request', async () => {
        const who = allowed.at(-1) ?? 'owner'
        const [role, status] = PEOPLE[who]
        const person = await colleague(who)
        const set = (change: { role: CompanyRole; status: MembershipStatus }) =>
          api.db('memberships').where({ user_id: person.userId }).update(change)
        for (const change of [
          { role: who === 'owner' ? 'admin' : 'member', status: 'active' },
          { role: who === 'owner' ? 'admin' : role, status: 'suspended' },
        ] as const) {
          assert.equal(await allows(person), true)
          await set(change)
          assert.equal(await allows(person), false)
          await set({ role, status })
        }
        await api.db('memberships').where({ user_id: person.userId }).delete()
        assert.equal(await allows(person), false)
      })

      const [parameter] = /:\w+/.exec(path) ?? []
      if (parameter)
        it(`answers the same 404 for no ${parameter}, another company's and what is no id, and changes nothing`, async () => {
          const stranger = await api.createOwner()
          const { clientId } = await stranger.createClient()
          const { userId } = await api.createPerson({ vendorId: stranger.vendorId, role: 'admin' })
          const rows = async () => [
            await api.db('oauth_clients').where({ client_id: clientId }),
            await api.db('memberships').where({ user_id: userId }),
            await api.db('activity').whereIn('vendor_id', [owner.vendorId, stranger.vendorId]),
          ]
          const before = await rows()
          const foreign = parameter === ':clientId' ? clientId : userId
          const body = BODIES[`${method} ${path}`]
          const ids = [foreign, `cli_${'a'.repeat(22)}`, 'usr_nobody', '*', '%00', '..%2f', '%C3%A4']
          const answers = ids.map((id) =>
            owner.request(method, path.replace(parameter, id), body ? { body } : {}),
          )
          assertAlike(await Promise.all(answers), 'not_found')
          assert.deepEqual(await rows(), before)
        })
    })
  }
})
