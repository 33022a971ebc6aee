import { randomBytes, randomUUID } from 'node:crypto'
import { hashPassword } from '../../../shared/accounts/passwords.ts'
import { insertUser } from '../../../shared/accounts/people.ts'
import { fillTables } from './filled-tables.ts'
import { addClients, addCompanies } from './fixtures.ts'
import { figuresOf, measureInterleaved } from './measure.ts'
import { plansOf } from './plans.ts'
import { type HttpRequest, send } from './requests.ts'
import type { Bench, Measurement, Row } from './row.ts'
import { spread } from './statistics.ts'
import type { World } from './world.ts'

const CLIENTS = 1_000

export const clientListRows: Row[] = [{ name: 'list of clients, 1,000', part: 'speed', measure }]

async function measure(bench: Bench): Promise<Measurement> {
  const world = await bench.world()
  const [vendorId] = (await addCompanies(world.db, 1, 1)) as [string]
  await addClients(world.db, [vendorId], CLIENTS)
  const { session } = await signInAsOwner(world, vendorId)
  await fillTables(world)
  const requests = await pagesOf(world, vendorId, session)
  const [list] = await measureInterleaved(bench, [
    { name: 'list of clients, 1,000 in the company', server: world.api, requests },
  ])
  return {
    findings: [
      {
        what: 'list of clients, any page of 1,000: p99',
        value: spread(list.samples.map(({ p99_ms }) => p99_ms)),
        unit: 'ms',
      },
    ],
    loads: [figuresOf(list)],
    plans: await plansOf(world, 'api', requests),
  }
}

/** A new owner of the company, and the token of a session of theirs. */
export async function signInAsOwner(
  { db, api }: World,
  vendorId: string,
): Promise<{ userId: string; session: string }> {
  const user = {
    userId: `usr_${randomUUID().replaceAll('-', '')}`,
    email: `${randomUUID()}@bench.example`,
    name: 'Owner',
  }
  const password = randomBytes(16).toString('hex')
  await insertUser(db, { ...user, passwordHash: await hashPassword(password) })
  await db.raw(`insert into memberships (vendor_id, user_id, role) values (?, ?, 'owner')`, [
    vendorId,
    user.userId,
  ])
  const response = await fetch(`${api.url}/v1/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ email: user.email, password }),
  })
  const { sessionToken } = (await response.json()) as { sessionToken?: string }
  if (!sessionToken) throw new Error(`no session: the API answered ${response.status}`)
  return { userId: user.userId, session: sessionToken }
}

/** A request for each page, found as a caller finds them. */
async function pagesOf({ api }: World, vendorId: string, session: string): Promise<HttpRequest[]> {
  const pages: HttpRequest[] = []
  const headers = { Authorization: `Bearer ${session}` }
  let cursor: string | null = ''
  while (cursor !== null) {
    const path: string = `/v1/vendor/${vendorId}/oauth-clients${cursor && `?cursor=${cursor}`}`
    const request: HttpRequest = { method: 'GET', path, headers }
    const response = await send(api, request)
    if (!response.ok) throw new Error(`the list of clients answered ${response.status}`)
    pages.push(request)
    cursor = ((await response.json()) as { nextCursor: string | null }).nextCursor
  }
  return pages
}
