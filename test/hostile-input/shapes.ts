import assert from 'node:assert/strict'

/** What a hostile input may be made of: characters of each kind that some reader treats in its own way. */
const CHARACTERS = [...'Aa1-_./"\'\\ :=;,@%&<{[+\n\u001b\u009d\u0130']
const KINDS = [...'A1a- ".=']
/** Openers without closers, and other beginnings that make a reader look further. */
const OPENERS = [
  ...['{"a":', '[[', '{"cookies":["', '"cookie":"', '["\\"', '\\\\"', '\\u0041', 'authorization: ', '"a":"'],
  ...'<script> <!-- <style><script><svg> \u001b] \u009d \u009b1 eyJ eyJaaaaaaaa. eyJ- ses_ :// ://a: a:b@'.split(
    ' ',
  ),
  ...'key= %25 % %e4 xn--a. &amp; 0.1, "":1.5, 1e1 127.0.0.1, ::ffff: a=& aA1 ä 😀 charset= "a",W/'.split(
    ' ',
  ),
  ...['<a ', '</script ', '\u001b[ ', '-----BEGIN PRIVATE KEY-----', '-----BEGIN ', 'token: ', 'bearer '],
  ...['Basic a', 'aA1aA1aA1aA1aA1a ', 'analytics:read '],
]

const triples = KINDS.flatMap((x) => KINDS.flatMap((y) => KINDS.map((z) => [x, y, z] as const))).filter(
  ([x, y, z]) => x !== y && y !== z,
)

const times = (unit: string, length: number) => unit.repeat(Math.ceil(length / unit.length)).slice(0, length)

/** Makes an input of a given length in characters. */
export type Shape = (length: number) => string

const UNITS = [...CHARACTERS, ...CHARACTERS.flatMap((x) => KINDS.map((y) => x + y)), ...OPENERS]

/** X^n, (XY)^n, X^n Y^n Z^n, separators only, deep nesting, openers without closers. */
export const SHAPES: readonly Shape[] = [
  ...UNITS.map((unit) => (length: number) => times(unit, length)),
  ...triples.map((units) => (length: number) => units.map((unit) => times(unit, length / 3)).join('')),
  ...OPENERS.flatMap((x) => ['a', '1', ' '].map((y) => (length: number) => x + times(y, length - x.length))),
  // Each its own: names of parameters, members of objects
  (length) => numbered(length, (at) => `a${at}=&`),
  (length) => `{${numbered(length - 10, (at) => `"a${at}":1,`)}"z":1.5}`,
  (length) => `[${numbered(length - 5, (at) => `${at}.5,`)}1.5]`,
]

function numbered(length: number, unit: (at: number) => string): string {
  const units: string[] = []
  for (let size = 0, at = 0; ; at++) {
    const next = unit(at)
    size += next.length
    if (size > length) return units.join('')
    units.push(next)
  }
}

const LIMIT_MS = 50
/** Below this, a doubling says more about the machine than about the function. */
const MEASURABLE_MS = 8
/** Twice the input takes twice the time, four times if it is quadratic. */
const GROWTH_MAX = 3
const TRIES = 6
/** A quadratic function fails however often it is measured; a linear one only when the machine was busy. */
const ROUNDS = 5
/** So far beyond the limit, two more tries are enough: no machine is that busy in a thread's own CPU time. */
const HOPELESS_MS = 2 * LIMIT_MS
const HOPELESS_TRIES = 2

/**
 * Asserts that `read` takes less than 50 ms for an input of `length`, and not much more than twice as long as
 * for half of it. Counted is the CPU time of this thread, and the fastest of a few tries: a busy machine
 * makes some slower, none faster.
 */
export function assertLinear(read: (input: string) => unknown, shape: Shape, length: number): void {
  const whole = shape(length)
  let whole_ms = fastest_ms(read, whole, { tries: 1 })
  if (whole_ms < MEASURABLE_MS) return
  const half = shape(Math.floor(length / 2))
  let half_ms = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    whole_ms = Math.min(whole_ms, fastest_ms(read, whole, { tries: TRIES, enough_ms: MEASURABLE_MS }))
    if (whole_ms < MEASURABLE_MS) return
    if (whole_ms > HOPELESS_MS) break
    half_ms = Math.min(half_ms, fastest_ms(read, half, { tries: TRIES }))
    if (whole_ms < LIMIT_MS && whole_ms < GROWTH_MAX * half_ms) return
  }
  const what = `${JSON.stringify(whole.slice(0, 40))}… of ${length}: ${whole_ms.toFixed(1)} ms`
  assert.fail(whole_ms > HOPELESS_MS ? what : `${what}, half of it ${half_ms.toFixed(1)} ms`)
}

/** Ends early with a try that took less than `enough_ms`, or when it is hopeless. */
function fastest_ms(
  read: (input: string) => unknown,
  input: string,
  { tries, enough_ms = 0 }: { tries: number; enough_ms?: number },
): number {
  let fastest_ms = Number.POSITIVE_INFINITY
  for (let at = 0; at < tries && fastest_ms >= enough_ms; at++) {
    const started = process.threadCpuUsage()
    read(input)
    const { user, system } = process.threadCpuUsage(started)
    fastest_ms = Math.min(fastest_ms, (user + system) / 1_000)
    if (at + 1 >= HOPELESS_TRIES && fastest_ms > HOPELESS_MS) break
  }
  return fastest_ms
}
