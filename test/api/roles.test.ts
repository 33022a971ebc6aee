import assert from 'node:assert/strict'
import { describeApi } from '../../apps/api/routes.ts'
import { freshOwner, sharedApi, type TestPerson } from '../support/api.ts'
import { API_RESOURCE, ISSUER } from '../support/issuer.ts'
import { assertProblem } from '../support/problem.ts'

const COMPANY = '/v1/vendor/{vendorId}/'
const { paths } = describeApi({ issuer: ISSUER, apiResource: API_RESOURCE })
/** Every route of a company: its method and what follows the company in its path. */
const ROUTES = Object.entries(paths)
  .filter(([path]) => path.startsWith(COMPANY))
  .flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => [method.toUpperCase(), path.slice(COMPANY.length)] as const),
  )
const OWNERS_ALONE = ['POST people', 'PATCH people/{userId}', 'DELETE people/{userId}']

/** Bodies of the changes that name something of the company in their path. */
const BODIES: Record<string, object> = {
  'PATCH oauth-clients/{clientId}': { name: 'Mine' },
  'PATCH people/{userId}': { role: 'member' },
}

const pathToNothing = (path: string) =>
  path.replace('{clientId}', `cli_${'a'.repeat(22)}`).replaceAll(/\{\w+\}/g, 'nothing')

describe('who may act for a company', () => {
  const api = sharedApi({ env: { RATE_CHANGES_PER_COMPANY: '1000/60' } })
  const owner = freshOwner(api)
  const colleague = (role: 'admin' | 'member', status: 'active' | 'suspended' = 'active') =>
    api.createPerson({ vendorId: owner.vendorId, role, status })

  it('is decided on all routes of companies', () => assert.ok(ROUTES.length >= 20, String(ROUTES.length)))

  for (const [method, path] of ROUTES) {
    const isForOwners = OWNERS_ALONE.includes(`${method} ${path}`)
    const call = (token: string | undefined, company = owner.vendorId) =>
      api.request(
        method,
        `/v1/vendor/${company}/${pathToNothing(path)}`,
        token === undefined ? {} : { token },
      )
    const allows = async ({ sessionToken }: TestPerson) => {
      const { status } = await call(sessionToken)
      assert.ok([200, 403, 404, 409, 415].includes(status), String(status))
      return status !== 403
    }

    describe(`${method} ${COMPANY}${path}`, () => {
      it(`allows ${isForOwners ? 'the owner alone' : 'the owner and an active admin'}`, async () => {
        assert.equal(await allows(owner), true)
        assert.equal(await allows(await colleague('admin')), !isForOwners)
      })

      it('refuses everyone else, with the same bytes whether or not the company exists', async () => {
        const stranger = await api.createOwner()
        const refused = [
          await call((await colleague('member')).sessionToken),
          await call((await colleague('member', 'suspended')).sessionToken),
          await call((await colleague('admin', 'suspended')).sessionToken),
          await call((await api.createPerson()).sessionToken),
        ]
        for (const company of [owner.vendorId, 'ven_nobody', 'x', '%00', `ven_${'a'.repeat(5_000)}`])
          refused.push(await call(stranger.sessionToken, company))
        const plain = refused.map((response) => {
          assertProblem(response, 'forbidden')
          return response.text.replace(response.json.requestId, '')
        })
        for (const text of plain) assert.equal(text, plain[0])
      })

      it('requires a session first, whatever the company, the body or the token', async () => {
        const { clientId, secret } = await owner.createClient()
        const token = await api.issuer.token({ clientId, vendorId: owner.vendorId })
        for (const other of [undefined, 'ses_wrong', secret, token])
          for (const company of [owner.vendorId, 'ven_nobody'])
            assertProblem(await call(other, company), 'unauthenticated')
      })

      it('reads role and status on every request', async () => {
        const role = isForOwners ? 'owner' : 'admin'
        const person = isForOwners ? owner : await colleague('admin')
        const set = (change: { role: string; status: string }) =>
          api.db('memberships').where({ user_id: person.userId }).update(change)
        for (const change of [
          { role: isForOwners ? 'admin' : 'member', status: 'active' },
          { role: 'admin', status: 'suspended' },
        ]) {
          assert.equal(await allows(person), true)
          await set(change)
          assert.equal(await allows(person), false)
          await set({ role, status: 'active' })
        }
        await api.db('memberships').where({ user_id: person.userId }).delete()
        assert.equal(await allows(person), false)
      })

      const [parameter] = /\{\w+\}/.exec(path) ?? []
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
          const foreign = parameter === '{clientId}' ? clientId : userId
          const bodies = []
          for (const id of [
            foreign,
            `cli_${'a'.repeat(22)}`,
            'usr_nobody',
            'x',
            '*',
            '%00',
            '..%2f',
            '%C3%A4',
          ]) {
            const body = BODIES[`${method} ${path}`]
            const response = await owner.request(method, path.replace(parameter, id), {
              ...(body && { body }),
            })
            assertProblem(response, 'not_found')
            bodies.push({ ...response.json, requestId: '' })
          }
          for (const body of bodies) assert.deepEqual(body, bodies[0])
          assert.deepEqual(await rows(), before)
        })
    })
  }
})
