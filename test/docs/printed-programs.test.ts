import assert from 'node:assert/strict'
import { parseYaml } from '../support/deployment.ts'
import { find, read } from '../support/project.ts'

const PAGES = find('apps/api/discovery/docs/pages/*.md').map(read).join('\n')
const USUAL = {
  ...{ iat: -1, exp: 899, age: 0, lastIat: -2, until: 1, wallUntil: 1, onPage: '', known: '' },
  ...{ status: 200, active: true as unknown, scope: 'analytics:write analytics:read' },
}
const CASES = parseYaml(read('test/docs/printed-programs.yaml'))
interface Refusal {
  programs: Record<string, string>
  refused: Partial<typeof USUAL>[]
  taken: Partial<typeof USUAL>[]
}

/** A time or a length of it, with what Go and Java ask of one. */
const at = (value_s: number) => ({
  valueOf: () => value_s,
  ...{ After: (other: number) => value_s > other, isAfter: (other: number) => value_s > other },
  ...{ Before: (other: number) => value_s < other, isBefore: (other: number) => value_s < other },
  ...{ Abs: () => Math.abs(value_s), abs: () => at(Math.abs(value_s)), toSeconds: () => value_s },
  ...{ Sub: (other: number) => value_s - other, plusSeconds: (more_s: number) => at(value_s + more_s) },
  Time: value_s,
})
/** A set of ids, as Go and Java ask it. */
const setOf = (id: string) =>
  Object.assign(() => setOf(id), { contains: (one: string) => one === id, [id]: true })

/** What the names in the conditions mean, in each language, now being 0. */
const meaningOf = ({ iat, exp, age, lastIat, until, wallUntil, onPage, known, ...answer }: typeof USUAL) => {
  const ends = { goodUntil: until, wallUntil, good_until: until, wall_until: wallUntil }
  const copy = { ...ends, revoked: setOf(known) }
  const contains = (list: string[], item: string) => list.includes(item)
  return {
    ...{
      nil: null,
      copy,
      before: { ...copy, IssuedAt: at(lastIat), iat: () => lastIat },
      digest: String,
      revoked: setOf(onPage),
      age,
      signer: 'signer',
    },
    ...{ kid: 'kid', clientID: 'client', clientId: 'client', jti: 'jti', status: String(answer.status) },
    ...{ scope: 'analytics:read', answer, token: answer },
    ...{ iat: at(iat), exp: at(exp), claims: { iat, exp, Scope: answer.scope } },
    ...{ next: { revoked: setOf(onPage), IssuedAt: at(iat) }, page: { getIssuedAt: () => at(iat) } },
    now: { ...at(0), goodUntil: () => until, wallUntil: () => wallUntil, revoked: () => setOf(known) },
    time: {
      ...{ Second: 1, Minute: 60, Since: (it: number) => at(-it), Until: Number },
      ...{ monotonic: () => 0, time: () => 0 },
    },
    ...{ System: { nanoTime: () => 0 }, Instant: { now: () => at(0) } },
    Duration: { between: (from: object, to: object) => at(Number(to) - Number(from)) },
    ...{ $token: answer, $send: 0, CURLINFO_RESPONSE_CODE: 0, curl_getinfo: () => answer.status },
    explode: (by: string, text: string) => text.split(by),
    in_array: (it: string, list: string[]) => contains(list, it),
    ...{ slices: { Contains: contains }, strings: { Split: (text: string, by: string) => text.split(by) } },
  }
}

const codeOf = (file: string): string =>
  new RegExp(`^\`\`\`\\w+ ${file}\n([^]*?)^\`\`\`$`, 'm').exec(PAGES)?.[1] ?? assert.fail(file)

/** The condition before these words, in JavaScript. All these languages write one alike. */
function conditionOf(file: string, words: string): string {
  const code = codeOf(file)
  const begin = code.lastIndexOf('if ', code.indexOf(words)) + 3
  const [, ids] = /for \(var id : List\.of\((.+)\)\)\s+if $/.exec(code.slice(0, begin)) ?? []
  const [text = ''] = code.slice(begin).split(/ \{| then|:\n|(?<=\))\s+(?:throw|return|refuse|copy)/)
  return ids ? `[${ids}].some((id) => ${text})` : text
}

const evaluate = (expression: string, meaning: object): unknown => {
  const script = expression.replaceAll(' or ', ' || ').replaceAll(' and ', ' && ').replace('~=', '!==')
  return new Function('meaning', `with (meaning) return ${script}`)(meaning)
}

/** What the names in the expressions mean. */
const computing = (facts: Record<string, number>, unit: number) => {
  const { sentAtWall = 0, age, after, status, ...times } = facts
  const inUnits = Object.entries(times).map(([name, time_s]) => [name, time_s * unit])
  const { receivedAt, sentAt, goodUntil, ...others } = Object.fromEntries(inUnits)
  const wall = {
    valueOf: () => sentAtWall,
    Add: (it: number) => sentAtWall + it,
    plusNanos: (it: number) => sentAtWall * unit + it,
  }
  return {
    ...{
      ...others,
      receivedAt,
      sentAt,
      goodUntil,
      received_at: receivedAt,
      sent_at: sentAt,
      good_until: goodUntil,
    },
    ...{
      age,
      seconds: after,
      after: { getAsLong: () => after },
      answer: { status },
      sentAtWall: wall,
      sent_at_wall: wall,
    },
    ...{ min: Math.min, time: { Second: 1, Millisecond: 0.001, Duration: Number }, start: { Add: Number } },
    Duration: { ofSeconds: (count: number) => ({ toNanos: () => count * unit }) },
  }
}

describe('the printed programs', () => {
  for (const { programs, refused, taken } of CASES.refusals as Refusal[])
    for (const [file, words] of Object.entries(programs))
      it(`refuse in ${file} what they must, and nothing else: ${words}`, () => {
        const condition = conditionOf(file, words)
        const isRefused = (facts: Partial<typeof USUAL>) =>
          !!evaluate(condition, meaningOf({ ...USUAL, ...facts })) !==
          /success|return end|new Copy/.test(words)
        for (const facts of refused) assert.ok(isRefused(facts), `${condition} ${JSON.stringify(facts)}`)
        for (const facts of taken) assert.ok(!isRefused(facts), `${condition} ${JSON.stringify(facts)}`)
      })

  for (const { programs, of } of CASES.values)
    for (const [file, words] of Object.entries<string>(programs))
      it(`compute in ${file} what they must: ${words}`, () => {
        const [line = ''] =
          codeOf(file)
            .split(words)
            .at(-1)
            ?.split(/;?(?: {2}#.*)?\n/) ?? []
        const expression = line.slice(0, /\(|, $/.test(words) ? -1 : undefined)
        const unit = file.endsWith('.java') ? (words.startsWith('Thread') ? 1e3 : 1e9) : 1
        for (const { is, ...facts } of of) {
          const value = Number(evaluate(expression, computing(facts, unit))) / (facts.status ? 1 : unit)
          assert.ok(Math.abs(value - is) < 1e-6, `${expression} ${JSON.stringify(facts)} ${value}`)
        }
      })

  it('measure in each language by a clock that no one sets, and by the wall clock', () => {
    const MONOTONIC = /(time\.Since\(start\)|System\.nanoTime|time\.monotonic|performance\.now)/.source
    const WALL = /(time\.Now\(\)\.Round\(0\)|time\.Since\(next|Instant\.now|time\.time|Date\.now)/.source
    const ISSUER = /(?:WithIssuer\(|issuer: |issuer=|JwtIssuerValidator\()["']\{issuer\}["']/
    // In Go, a time is by both unless Round takes one away.
    const read = new RegExp(`${MONOTONIC}|${WALL}|time\\.Now`, 'g')
    for (const file of ['revocations.go', 'revocations.mjs', 'revocations.py', 'Revocations.java']) {
      const [, polled = ''] = codeOf(file).split(/^.*\b(?:func|function|def|void) poll\(/m)
      const clocks = [...polled.matchAll(read)].map(([, monotonic, wall]) =>
        monotonic ? 'm' : wall ? 'w' : 'mw',
      )
      assert.equal(clocks.join(''), 'mwmwmw', file)
      assert.match(codeOf(file), ISSUER, file)
    }
  })
})
