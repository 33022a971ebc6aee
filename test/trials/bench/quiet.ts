import { type Spread, spread } from './statistics.ts'

/** A round in which others used more of the server's core than this is thrown away and repeated. */
const OTHERS_MAX = 0.05
/** Rounds run at most this many times as often as were asked for, repeated ones included. */
const ATTEMPTS_PER_ROUND = 3

/** How busy others kept the server's core while a row was measured. */
export interface Business {
  /** The share of the core in the rounds that count. */
  others: Spread
  /** Rounds that were repeated. */
  repeated: number
  /** Rounds that count though others used more than they may: there were no better ones. */
  busy: number
}

export interface Round<T> {
  /** The share of the server's core that others used, at most, while one of the subjects was loaded. */
  others: number
  samples: T
}

/** Runs rounds until enough are quiet, or too many ran. Returns the quietest, in the order they ran in. */
export async function quietRounds<T>(
  wanted: number,
  run: (attempt: number) => Promise<Round<T>>,
): Promise<{ rounds: Round<T>[]; business: Business }> {
  const attempts: Round<T>[] = []
  const quiet = () => attempts.filter(({ others }) => others <= OTHERS_MAX).length
  while (quiet() < wanted && attempts.length < wanted * ATTEMPTS_PER_ROUND)
    attempts.push(await run(attempts.length + 1))
  const quietest = new Set(attempts.toSorted((a, b) => a.others - b.others).slice(0, wanted))
  const rounds = attempts.filter((round) => quietest.has(round))
  const business = {
    others: spread(rounds.map(({ others }) => others)),
    repeated: attempts.length - rounds.length,
    busy: rounds.filter(({ others }) => others > OTHERS_MAX).length,
  }
  return { rounds, business }
}

const percent = (share: number): string => `${Math.round(share * 100)} %`

/** Returns a sentence about all rows together. */
export function businessText(rows: readonly { business?: Business[] }[]): string {
  const known = rows.flatMap(({ business = [] }) => business)
  if (known.length === 0) return ''
  const total = (pick: (row: Business) => number) => known.reduce((sum, row) => sum + pick(row), 0)
  const usual = spread(known.map(({ others }) => others.median)).median
  const most = Math.max(...known.map(({ others }) => others.max))
  const busy = total((row) => row.busy)
  return [
    `Others used ${percent(usual)} of the server's core, ${percent(most)} at most.`,
    `${total((row) => row.repeated)} rounds were repeated, as others used more than ${percent(OTHERS_MAX)}.`,
    ...(busy > 0 ? [`${busy} rounds count although others did: the machine was too busy.`] : []),
  ].join(' ')
}
