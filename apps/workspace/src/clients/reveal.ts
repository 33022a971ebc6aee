import { useSyncExternalStore } from 'react'
import type { CurrentCompany } from '../api/company.ts'
import type { OAuthClient } from '../api/contract.ts'
import type { Credential } from './credential.ts'

/** A new secret or private key. It is kept only here, until the dialog that shows it is closed. */
export interface Reveal {
  company: CurrentCompany
  client: OAuthClient
  credential: Credential
  /** An earlier try had no answer, so it may have created another client. */
  isAfterLoss: boolean
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
