import { recount, storedDays } from '../../support/analytics.ts'
import type { Recorder } from './recorder.ts'
import { dailyCall, type World } from './world.ts'

export type Ledger = ReturnType<typeof createLedger>

/** What was sent, and of it what was acknowledged. */
export const createLedger = () => ({
  eventsSent: new Set<string>(),
  eventsAcknowledged: new Set<string>(),
  /** By name, which is also the Idempotency-Key. undefined: no answer so far. */
  clients: new Map<string, string | undefined>(),
  clientsRevoked: new Set<string>(),
})

interface Books extends World {
  ledger: Ledger
  recorder: Recorder
}

/** Compares what was acknowledged with what is stored, and that with what the processes answer. */
export async function recountAll(books: Books): Promise<void> {
  const { api, company, recorder } = books
  const complain = (text: string) => recorder.violation(`recount: ${text}`)
  await recountClients(books, complain)
  const stored = await recountEvents(books, complain)
  for (const site of api) {
    const { json, status } = await recorder.call({ operation: 'probe', site, ...dailyCall(company) })
    if (json?.totals?.clicks !== stored)
      complain(`${site.name} answers ${status} with ${json?.totals?.clicks} clicks, ${stored} are stored`)
  }
}

type Complain = (text: string) => void

/** Returns how many clicks are stored for all days. */
async function recountEvents({ ledger, db, company }: Books, complain: Complain): Promise<number> {
  const { eventsSent, eventsAcknowledged } = ledger
  const { vendorId } = company
  const { rows } = await db.raw(
    'select event_id as id, count(*)::int as times from analytics_events where vendor_id = ? group by 1',
    [vendorId],
  )
  const stored = new Map<string, number>(rows.map(({ id, times }: Record<string, unknown>) => [id, times]))
  for (const id of eventsAcknowledged)
    if (!stored.has(id)) complain(`event ${id} was acknowledged and is lost`)
  for (const [id, times] of stored) {
    if (times > 1) complain(`event ${id} is stored ${times} times`)
    if (!eventsSent.has(id)) complain(`event ${id} was never sent`)
  }
  const days = await storedDays(db, vendorId)
  const [actual, expected] = [days, await recount(db, vendorId)].map((days) => JSON.stringify(days))
  if (actual !== expected) complain(`the days are ${actual}, the events make ${expected}`)
  return days.reduce((sum, { clicks }) => sum + Number(clicks), 0)
}

async function recountClients({ ledger, db, company }: Books, complain: Complain): Promise<void> {
  const { clients, clientsRevoked } = ledger
  const { rows } = await db.raw(
    `select name, client_id as id, status,
       (select count(*)::int from activity a where a.subject = c.client_id and action = 'client.created') as created,
       (select count(*)::int from activity a where a.subject = c.client_id and action = 'client.revoked') as revoked
     from oauth_clients c where vendor_id = ? and client_id <> ?`,
    [company.vendorId, company.client.clientId],
  )
  const byName = Map.groupBy(
    rows as { name: string; id: string; status: string; created: number; revoked: number }[],
    ({ name }) => name,
  )
  for (const [name, id] of clients)
    if (id !== undefined && byName.get(name)?.[0]?.id !== id)
      complain(`client ${id} was acknowledged and is lost`)
  for (const [name, stored] of byName) {
    if (!clients.has(name)) complain(`a client was stored that nobody asked for: ${name}`)
    if (stored.length > 1) complain(`one Idempotency-Key made ${stored.length} clients: ${name}`)
    for (const { id, status, created, revoked } of stored) {
      if (created !== 1) complain(`client ${id} has ${created} activity entries for its creation`)
      if (revoked !== (status === 'Revoked' ? 1 : 0))
        complain(`client ${id} is ${status} and has ${revoked} activity entries for that`)
      if (clientsRevoked.has(id) && status !== 'Revoked')
        complain(`client ${id} is ${status} after its revocation`)
    }
  }
}
