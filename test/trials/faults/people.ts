import type { Knex } from 'knex'
import { hashPassword } from '#shared/accounts/passwords.ts'
import { insertCompany, insertUser, saveMembership } from '#shared/accounts/people.ts'
import { insertClient } from '#shared/oauth/clients.ts'
import { hashSecret } from '#shared/oauth/ids.ts'
import {
  newClientId,
  newClientSecret,
  newSessionToken,
  newUserId,
  newVendorId,
} from '#shared/oauth/new-ids.ts'
import { startSession } from '../../../apps/api/sessions/sessions.ts'

export interface ClientSecret {
  clientId: string
  clientSecret: string
}

/** A company, its owner's session, and a client that nobody revokes. */
export interface Company {
  vendorId: string
  sessionToken: string
  client: ClientSecret
}

export async function createCompany(db: Knex): Promise<Company> {
  const [vendorId, userId, sessionToken] = [newVendorId(), newUserId(), newSessionToken()]
  await insertCompany(db, { vendorId, name: 'Faults', timezone: 'UTC', currency: 'EUR' })
  const email = `${userId}@people.example`
  await insertUser(db, { userId, name: 'Owner', email, passwordHash: await hashPassword(newClientSecret()) })
  await saveMembership(db, { vendorId, userId, role: 'owner', status: 'active' })
  const createdAt = new Date()
  await startSession(db, { tokenHash: hashSecret(sessionToken), userId, now: createdAt })
  const client = { clientId: newClientId(), clientSecret: newClientSecret() }
  await insertClient(db, {
    clientId: client.clientId,
    vendorId,
    name: 'Nobody revokes it',
    scopes: ['analytics:read', 'analytics:write'],
    authenticatesBy: { secretHash: hashSecret(client.clientSecret) },
    createdBy: null,
    createdAt,
  })
  return { vendorId, sessionToken, client }
}
