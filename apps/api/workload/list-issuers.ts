import { z } from 'zod'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { instant } from '../http/instant.ts'
import { route } from '../http/route.ts'
import { canRead } from '../people/access.ts'
import { type IssuerRecord, isStale, listIssuers } from './issuers.ts'

export const WorkloadIssuer = z
  .object({
    issuer: z.string(),
    keysFrom: z
      .enum(['issuer', 'pasted'])
      .meta({ description: '`issuer`: fetched regularly. `pasted`: replaced only by a person.' }),
    keysAsOf: instant.meta({ description: 'When the keys were last fetched or pasted.' }),
    keyIds: z.array(z.string()).meta({ description: 'The `kid` of each key that has one.' }),
    failing: z.string().nullable().meta({
      description:
        'Why the keys could not be fetched for an hour or longer. After 24 hours they are not believed any more.',
    }),
  })
  .meta({ id: 'WorkloadIssuer' })

const WorkloadIssuers = z.object({ issuers: z.array(WorkloadIssuer) }).meta({ id: 'WorkloadIssuers' })

export const listIssuersRoute = route({
  method: 'get',
  path: '/v1/vendor/:vendorId/workload-issuers',
  operationId: 'listWorkloadIssuers',
  tag: 'Clients',
  summary: "List the issuers of a company's workloads",
  description: 'Those that an Active client trusts, with the ids of their public keys.',
  access: canRead,
  answers: { 200: { description: 'The issuers, by name.', schema: WorkloadIssuers } },
  async handle({ vendorId }, { db, clock }: { db: Database; clock: Clock }) {
    const issuers = await listIssuers(db, vendorId)
    return { issuers: issuers.map((issuer) => issuerAnswer(issuer, clock.now())) }
  },
})

export function issuerAnswer(record: IssuerRecord, now_ms: number): z.infer<typeof WorkloadIssuer> {
  const { issuer, keysFrom, keys, keysAsOf, failure } = record
  return {
    issuer,
    keysFrom,
    keysAsOf: keysAsOf.toISOString(),
    keyIds: keys.flatMap(({ kid }) => kid ?? []),
    failing: isStale(record, now_ms)
      ? `The keys could not be fetched: ${failure ?? 'the service did not try'}.`
      : null,
  }
}
