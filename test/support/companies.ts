import { hashSecret } from '#shared/oauth/ids.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { newClientId, newClientSecret, newVendorId } from '../../apps/api/accounts/new-ids.ts'
import { type CompanyRecord, insertCompany } from '../../apps/api/accounts/people.ts'
import { insertClient, type NewClientRecord } from '../../apps/api/clients/records.ts'

/** Stores a company, without the API. `db` is a role that may. */
export async function insertTestCompany(db: Database, given: Partial<CompanyRecord> = {}) {
  const acme = { name: 'Acme', timezone: 'Europe/Berlin', currency: 'EUR' }
  const company: CompanyRecord = { vendorId: newVendorId(), ...acme, ...given }
  await insertCompany(db, company)
  return company
}

/** Stores an Active client without the API, of a new company unless one is named. Returns its secret too. */
export async function insertTestClient(db: Database, given: Partial<NewClientRecord> = {}) {
  const secret = newClientSecret()
  const client: NewClientRecord = {
    clientId: newClientId(),
    vendorId: given.vendorId ?? (await insertTestCompany(db)).vendorId,
    name: 'A client',
    scopes: ['analytics:read'],
    authenticatesBy: { secretHash: hashSecret(secret) },
    createdBy: null,
    createdAt: new Date(),
    ...given,
  }
  await insertClient(db, client)
  return { ...client, secret }
}
