import type { z } from 'zod'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { type WorkloadIssuer as IssuerAnswer, WorkloadIssuers } from '../clients/schemas.ts'
import { route } from '../http/route.ts'
import { canRead } from '../people/access.ts'
import { isLate, listIssuers, type WorkloadIssuer } from './issuers.ts'

export const getIssuers = route({
  method: 'get',
  path: '/v1/vendor/:vendorId/workload-issuers',
  operationId: 'listWorkloadIssuers',
  tag: 'Clients',
  summary: "List the issuers of a company's workloads",
  description: 'Those that an Active client trusts, with the ids of their public keys.',
  by: canRead,
  answers: { 200: { description: 'The issuers, by name.', schema: WorkloadIssuers } },
  async handle({ vendorId }, { db, clock }: { db: Database; clock: Clock }) {
    const issuers = await listIssuers(db, vendorId)
    return { issuers: issuers.map((issuer) => issuerAnswer(issuer, clock.now())) }
  },
})

export function issuerAnswer(record: WorkloadIssuer, now_ms: number): z.infer<typeof IssuerAnswer> {
  const { issuer, keysFrom, keys, keysAsOf, failure } = record
  return {
    issuer,
    keysFrom,
    keysAsOf: keysAsOf.toISOString(),
    keyIds: keys.flatMap(({ kid }) => kid ?? []),
    failing: isLate(record, now_ms)
      ? `The keys could not be fetched: ${failure ?? 'the service did not try'}.`
      : null,
  }
}
