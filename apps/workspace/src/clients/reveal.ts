import { useSyncExternalStore } from 'react'
import type { OAuthClient } from '../api/contract.ts'

/** A secret that was just issued. Held here, and nowhere else, until the dialog that shows it is closed. */
export interface Reveal {
  vendorId: string
  client: OAuthClient
  clientSecret: string
  /** Named when the client takes another's place. */
  replaces?: OAuthClient | undefined
}

let reveal: Reveal | undefined
const listeners = new Set<() => void>()

export const useReveal = (): Reveal | undefined => useSyncExternalStore(subscribe, () => reveal)

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function setReveal(next: Reveal | undefined): void {
  reveal = next
  for (const listener of listeners) listener()
}
