import type { Refusal } from '../api/contract.ts'

/** Refused requests with the same reason, newest first. */
export interface RefusalGroup {
  newest: Refusal
  earlier: Refusal[]
  /** When the first was refused. */
  firstAt: string
  /** Where they came from, the latest first. */
  addresses: string[]
}

/** Groups refusals by reason, those with the newest request first. @param refusals newest first. */
export function groupsOf(refusals: readonly Refusal[]): RefusalGroup[] {
  const groups = Map.groupBy(refusals, ({ cause, reason }) => `${cause} ${withoutNumbers(reason)}`)
  return [...groups.values()].map(([newest, ...earlier]) => ({
    newest: newest as Refusal,
    earlier,
    firstAt: (earlier.at(-1) ?? (newest as Refusal)).at,
    addresses: [...new Set([newest as Refusal, ...earlier].flatMap(({ address }) => address ?? []))],
  }))
}

/** A clock that is 4 minutes ahead is the same trouble as one that is 5. */
const withoutNumbers = (sentence: string): string => sentence.replaceAll(/\d[\d,]*/g, '')
