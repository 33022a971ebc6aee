import { listSigningKeys, type SigningKeyState, signingKeyStates } from '#shared/oauth/signing-keys.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Metrics, Sample } from '#shared/process/metrics.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { Audit } from './audit.ts'

/** The audit that also counts its lines. */
export function countedAudit(audit: Audit, metrics: Metrics): Audit {
  const issued = metrics.counter({ name: 'tokens_issued_total', help: 'Access tokens issued' })
  const revoked = metrics.counter({
    name: 'tokens_revoked_total',
    help: 'Access tokens revoked by their client',
  })
  const refused = metrics.counter({
    name: 'oauth_refusals_total',
    help: 'Requests to the OAuth endpoints that were refused, by reason',
    labels: ['reason'],
  })
  return {
    tokenIssued(context, token) {
      issued()
      audit.tokenIssued(context, token)
    },
    tokenRevoked(context, token) {
      revoked()
      audit.tokenRevoked(context, token)
    },
    refused(exchange, refusal) {
      refused({ reason: refusal.reason })
      audit.refused(exchange, refusal)
    },
    failed: audit.failed,
  }
}

const READ_DEADLINE_MS = 1_000
const MEASURED_STATES: readonly SigningKeyState[] = ['active', 'standby', 'retired']

/** How many signing keys there are in each state, and the age of the youngest in seconds, read from the table. */
export function measureKeys(metrics: Metrics, { db, clock }: { db: Database; clock: Clock }): void {
  let reading: Promise<ReturnType<typeof signingKeyStates>> | undefined

  function read() {
    reading ??= listSigningKeys(db)
      .then((keys) => signingKeyStates(keys, clock.now()))
      .finally(() => {
        reading = undefined
      })
    const late = new Promise<never>((_resolve, reject) => setTimeout(reject, READ_DEADLINE_MS).unref())
    return Promise.race([reading, late])
  }

  metrics.gauge(
    { name: 'signing_keys', help: 'Signing keys that are not revoked, by state', labels: ['state'] },
    'max',
    async (): Promise<Sample[]> => {
      const states = await read()
      return MEASURED_STATES.map((state) => ({
        labels: { state },
        value: states.filter((each) => each.state === state).length,
      }))
    },
  )
  metrics.gauge(
    { name: 'signing_key_age_seconds', help: 'Age of the signing key that signs now', labels: ['state'] },
    'max',
    async (): Promise<Sample[]> =>
      (await read())
        .filter(({ state }) => state === 'active')
        .map(({ key, state }) => ({
          labels: { state },
          value: (clock.now() - key.createdAt.getTime()) / 1_000,
        })),
  )
}
