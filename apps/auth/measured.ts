import type { Clock } from '#shared/process/clock.ts'
import type { Metrics } from '#shared/process/metrics.ts'
import type { KeyRing } from './key-ring.ts'

const STATES = ['active', 'standby', 'retired'] as const

/** How many signing keys this process has in each state, and the age of the one that signs. */
export function measureKeys(metrics: Metrics, keys: KeyRing, clock: Clock): void {
  metrics.gauge(
    { name: 'signing_keys', help: 'Signing keys that are not revoked, by state', labels: ['state'] },
    'max',
    () => {
      const live = keys.live()
      const count = (state: string) => live.filter((each) => each.state === state).length
      return live.length === 0 ? [] : STATES.map((state) => ({ labels: { state }, value: count(state) }))
    },
  )
  metrics.gauge(
    { name: 'signing_key_age_seconds', help: 'Age of the signing key that signs now', labels: ['state'] },
    'max',
    () =>
      keys
        .live()
        .filter(({ state }) => state === 'active')
        .map(({ key, state }) => ({
          labels: { state },
          value: (clock.now() - key.createdAt.getTime()) / 1_000,
        })),
  )
}
