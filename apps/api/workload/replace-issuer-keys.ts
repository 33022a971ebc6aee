import { z } from 'zod'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { recordActivity } from '../accounts/activity.ts'
import { invalidMember } from '../http/input.ts'
import { route } from '../http/route.ts'
import { pastedKeys } from '../keys/key-set.ts'
import { canWrite } from '../people/access.ts'
import { Problem } from '../problems/problems.ts'
import { lockIssuer, saveIssuerKeys } from './issuers.ts'
import { issuerAnswer, WorkloadIssuer } from './list-issuers.ts'
import { workloadIssuerUrl } from './workload.ts'

const WorkloadIssuerKeys = z
  .strictObject({ issuer: workloadIssuerUrl, keys: pastedKeys })
  .meta({ id: 'WorkloadIssuerKeys' })

export const replaceIssuerKeysRoute = route({
  method: 'put',
  path: '/v1/vendor/:vendorId/workload-issuers',
  operationId: 'replaceWorkloadIssuerKeys',
  tag: 'Clients',
  summary: 'Replace the pasted keys of an issuer',
  description:
    'For all clients of the company that trust this issuer. A key that is left out is not believed after five minutes at most.',
  access: canWrite,
  body: WorkloadIssuerKeys,
  answers: { 200: { description: 'The issuer with its new keys.', schema: WorkloadIssuer } },
  problems: ['not_found'],
  handle: (
    { vendorId, session: { userId }, body: { issuer, keys } },
    { db, clock }: { db: Database; clock: Clock },
  ) =>
    db.transaction(async (transaction) => {
      const before = await lockIssuer(transaction, { vendorId, issuer })
      if (!before) throw new Problem('not_found', 'No Active client of this company trusts this issuer.')
      const rule = 'must be an issuer whose keys were pasted: those of this one are fetched from it'
      if (before.keysFrom !== 'pasted') throw invalidMember('/issuer', rule)
      const after = { ...before, keys, keysAsOf: new Date(clock.now()), failure: null }
      await saveIssuerKeys(transaction, { vendorId, issuer }, after)
      const keyIds = (set: typeof before) => ({ keyIds: set.keys.flatMap(({ kid }) => kid ?? []) })
      const detail = { before: keyIds(before), after: keyIds(after) }
      await recordActivity(
        transaction,
        { vendorId, by: userId },
        'workload_issuer.keys_replaced',
        issuer,
        detail,
      )
      return issuerAnswer(after, clock.now())
    }),
})
