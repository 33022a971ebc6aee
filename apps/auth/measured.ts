import { Gauge } from 'prom-client'
import type { Clock } from '#shared/process/clock.ts'
import type { Metrics } from '#shared/process/metrics.ts'
import type { KeyRing } from './key-ring.ts'

const STATES = ['active', 'standby', 'retired'] as const

/** How many signing keys this process has in each state, and the age of the one that signs. */
export function measureKeys({ registry }: Metrics, keys: KeyRing, clock: Clock): void {
  new Gauge({
    name: 'integration_signing_keys',
    help: 'Signing keys that are not revoked, by state',
    labelNames: ['state'],
    aggregator: 'max',
    registers: [registry],
    collect() {
      this.reset()
      const live = keys.live()
      if (live.length === 0) return
      for (const state of STATES) this.set({ state }, live.filter((key) => key.state === state).length)
    },
  })
  new Gauge({
    name: 'integration_signing_key_age_seconds',
    help: 'Age of the signing key that signs now',
    labelNames: ['state'],
    aggregator: 'max',
    registers: [registry],
    collect() {
      this.reset()
      const active = keys.live().find(({ state }) => state === 'active')
      if (active) this.set({ state: 'active' }, (clock.now() - active.key.createdAt.getTime()) / 1_000)
    },
  })
}
