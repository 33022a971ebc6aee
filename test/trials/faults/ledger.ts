import type { Knex } from 'knex'
import { recount, storedDays } from '../../support/analytics.ts'
import type { Recorder } from './recorder.ts'
import { dailyRead } from './requests.ts'
import type { Site } from './site.ts'
import type { Company } from './world.ts'

/** What was sent, and of it what was acknowledged. */
export interface Ledger {
  eventsSent: Set<string>
  eventsAcknowledged: Set<string>
  /** By name, which is also the Idempotency-Key. undefined: no answer so far. */
  clients: Map<string, string | undefined>
  clientsRevoked: Set<string>
}

export const createLedger = (): Ledger => ({
  eventsSent: new Set(),
  eventsAcknowledged: new Set(),
  clients: new Map(),
  clientsRevoked: new Set(),
})

/** Compares what was acknowledged with what is stored, and that with what the processes answer. */
export async function recountAll(
  ledger: Ledger,
  {
    db,
    company,
    api,
    recorder,
    token,
  }: { db: Knex; company: Company; api: Site[]; recorder: Recorder; token: string },
): Promise<void> {
  const complain = (text: string) => recorder.violation(`recount: ${text}`)
  await recountEvents(ledger, db, company, complain)
  await recountClients(ledger, db, company, complain)
  const stored = await clicksOf(db, company)
  for (const site of api) {
    const { json, status } = await recorder.call({ operation: 'probe', site, ...dailyRead(company, token) })
    if (json?.totals?.clicks !== stored)
      complain(`${site.name} answers ${status} with ${json?.totals?.clicks} clicks, ${stored} are stored`)
  }
}

type Complain = (text: string) => void

const clicksOf = async (db: Knex, { vendorId }: Company): Promise<number> =>
  (await storedDays(db, vendorId)).reduce((sum, day) => sum + Number(day.clicks), 0)

async function recountEvents(
  { eventsSent, eventsAcknowledged }: Ledger,
  db: Knex,
  { vendorId }: Company,
  complain: Complain,
): Promise<void> {
  const { rows } = await db.raw(
    'select event_id as id, count(*)::int as times from analytics_events where vendor_id = ? group by 1',
    [vendorId],
  )
  const stored = new Map<string, number>(
    rows.map((row: { id: string; times: number }) => [row.id, row.times]),
  )
  for (const id of eventsAcknowledged)
    if (!stored.has(id)) complain(`event ${id} was acknowledged and is lost`)
  for (const [id, times] of stored) {
    if (times > 1) complain(`event ${id} is stored ${times} times`)
    if (!eventsSent.has(id)) complain(`event ${id} was never sent`)
  }
  const [days, should] = [await storedDays(db, vendorId), await recount(db, vendorId)]
  if (JSON.stringify(days) !== JSON.stringify(should))
    complain(`the days are ${JSON.stringify(days)}, the events make ${JSON.stringify(should)}`)
}

async function recountClients(
  { clients, clientsRevoked }: Ledger,
  db: Knex,
  { vendorId, client: steady }: Company,
  complain: Complain,
): Promise<void> {
  const { rows } = await db.raw(
    `select name, client_id as id, status,
       (select count(*)::int from activity a where a.subject = c.client_id and action = 'client.created') as created,
       (select count(*)::int from activity a where a.subject = c.client_id and action = 'client.revoked') as revoked
     from oauth_clients c where vendor_id = ? and client_id <> ?`,
    [vendorId, steady.clientId],
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
