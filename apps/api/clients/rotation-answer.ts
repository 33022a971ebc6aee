import type { z } from 'zod'
import type { ClientRecord } from '#shared/oauth/clients.ts'
import { actorOf } from '../http/schemas.ts'
import { instantOf, instantOrNull } from './client-answer.ts'
import { readRotation } from './rotation-evidence.ts'
import { rotationState } from './rotation-state.ts'
import type { ClientRotation } from './schemas.ts'
import { ADDRESSES_SHOWN, type UsageStores } from './usage-windows.ts'

/** The rotation of a client as the API returns it. */
export async function rotationAnswer(
  stores: UsageStores,
  { vendorId, old }: { vendorId: string; old: ClientRecord },
): Promise<z.infer<typeof ClientRotation>> {
  const found = await readRotation(stores, { vendorId, old })
  const { evidence, plan, tokensLastDay } = found
  const { state, ...judged } = rotationState(evidence, stores.clock.now())
  const due = judged.addresses.filter((one) => one.due)
  return {
    replacementId: found.replacement?.clientId ?? null,
    state,
    evidenceSince: instantOrNull(judged.evidenceSince_ms),
    lastUsedAt: instantOrNull(evidence.old.lastUsedAt_ms),
    longestGapSeconds: judged.longestGap_ms === undefined ? null : Math.round(judged.longestGap_ms / 1000),
    expectedNextUseAt: instantOrNull(judged.expectedNextUseAt_ms),
    safeFrom: instantOrNull(judged.safeFrom_ms),
    secretPutAwayAt: found.secretPutAwayAt?.toISOString() ?? null,
    addresses: judged.addresses.slice(0, ADDRESSES_SHOWN).map(({ address, lastUsedAt_ms, move }) => ({
      address,
      lastUsedAt: instantOf(lastUsedAt_ms),
      move,
    })),
    refusedSinceRevoke: evidence.refusedSinceRevoke,
    refusedAddresses: [...evidence.refusedAddresses.keys()],
    ifRevokedNow: {
      addresses: due.length,
      tokensAnHour: due.length === 0 ? 0 : Math.round((tokensLastDay / 24) * 100) / 100,
    },
    armed:
      plan.armedAt && old.status === 'Active'
        ? { at: plan.armedAt.toISOString(), by: actorOf(plan.armedBy, plan.armedByName) }
        : null,
  }
}
