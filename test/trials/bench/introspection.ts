import { createService } from '../../../infra/admin/services.ts'
import { addClientsOfMany, requestToken, tokenRequest } from './fixtures.ts'
import { measureBeside } from './measure.ts'
import type { HttpRequest } from './requests.ts'
import type { Bench, Measurement, Row } from './row.ts'

const TOKENS = 1_000
const AT_ONCE = 50

export const introspectionRows: Row[] = [
  { name: 'introspection', part: 'speed', measure: besideTokenRequests },
]

/** What a service costs that asks about every token, beside the requests that got them. */
async function besideTokenRequests(bench: Bench): Promise<Measurement> {
  const { db, auth } = await bench.world()
  const { serviceId, serviceSecret } = await createService(db, { name: 'bench', by: { name: 'bench' } })
  const clients = await addClientsOfMany(db, TOKENS)
  const tokens: string[] = []
  for (let from = 0; from < clients.length; from += AT_ONCE) {
    const some = clients.slice(from, from + AT_ONCE)
    tokens.push(...(await Promise.all(some.map((client) => requestToken(auth, client)))))
  }
  const questions = tokens.map((token): HttpRequest => {
    const body = new URLSearchParams({ token, client_id: serviceId, client_secret: serviceSecret }).toString()
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
    return { method: 'POST', path: '/v1/oauth/introspect', headers, body }
  })
  const answer = await fetch(auth.url + questions[0]?.path, { ...questions[0] })
  if (!((await answer.json()) as { active?: boolean }).active) throw new Error('the token is not active')
  const requests = clients.map((one) => tokenRequest(one))
  const asked = { name: 'introspection of a live token', server: auth, requests: questions }
  const issued = { name: 'token endpoint, 1,000 clients', server: auth, requests }
  return measureBeside(bench, [asked, issued], { beside: 'a token request', goal: { least: 0.5 } })
}
