import type { Clock } from '#shared/process/clock.ts'
import type { Metrics } from '#shared/process/metrics.ts'
import type { ClockWatch } from './clock-watch.ts'
import type { KeyRing } from './key-ring.ts'

const STATES = ['active', 'standby', 'retired'] as const

/** Measures how many signing keys this process has in each state, and how long the active key has signed. */
export function measureKeys({ gauge }: Metrics, keys: KeyRing, clock: Clock): void {
  const help = 'Signing keys that are not revoked, by state'
  const ageHelp = 'How long the active key has signed'
  gauge('integration_signing_keys', { help, labels: ['state'], over: 'max' }, (set) => {
    const live = keys.live()
    if (live.length === 0) return
    for (const state of STATES) set(live.filter((key) => key.state === state).length, { state })
  })
  gauge('integration_signing_key_age_seconds', { help: ageHelp, labels: ['state'], over: 'max' }, (set) => {
    const key = keys.live().find(({ state }) => state === 'active')?.key
    if (key) set((clock.now() - (key.activatesAt ?? key.createdAt).getTime()) / 1_000, { state: 'active' })
  })
}

/** Measures how far each store's clock is ahead of this process's, if that is known. */
export function measureClock({ gauge }: Metrics, { offsets }: ClockWatch): void {
  const help = "How far a store's clock is ahead of this machine's"
  gauge('integration_clock_offset_seconds', { help, labels: ['store'], over: 'max' }, (set) => {
    for (const [store, ahead_ms] of Object.entries(offsets()))
      if (ahead_ms !== undefined) set(ahead_ms / 1_000, { store: store.replace('_ms', '') })
  })
}
