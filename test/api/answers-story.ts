import assert from 'node:assert/strict'
import { inspect, isDeepStrictEqual } from 'node:util'
import type { ApiRequest, ApiResponse, TestApi } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { createNames } from '../support/placeholders.ts'
import type { ArrivedMail } from '../support/smtp.ts'

/** What is another one in each run. In a story the same text has the same name, such as client-2. */
const NAMED = new RegExp(
  [
    '(?<token>eyJ[\\w-]+\\.[\\w-]*\\.[\\w.-]+)',
    '(?<cursor>(?<![\\w-])(?:W|eyJ)[\\w-]{20,}(?![\\w-]))',
    // The quotation mark first: looking behind each character of a page takes seconds.
    '(?<tag>"(?<=(?:etag|match): ")[^"]+"|"[\\w-]{27}"(?<=^if-[-\\w]+: .*))',
    '(?<client>cli_\\w{22})|(?<user>usr_\\w{22})|(?<company>ven_\\w{22})|(?<secret>ias_\\w{49})',
    '(?<database>test_[0-9a-f]{32})|(?<session>ses_\\w{43})|(?<sid>sid_\\w{32})|(?<account>(?<="account":")[\\w-]{16})',
    '(?<link>(?:inv|pwr)_\\w{43})|(?<id>\\w{8}(?:-\\w{4}){3}-\\w{12})',
    '(?<random>(?<![\\w-])(?!problem-|\\w+_supported\\b)[\\w-]{43,}(?![\\w-]))',
    '(?<port>(?<=[a-z\\d]:|port |%3A)\\d{5}(?!\\d))|(?<entry>(?<="entryId":)"?\\d+"?)',
    '(?<now>20\\d\\d-\\d\\d-\\d\\dT[\\d:.]+Z|\\w{3} \\d{1,2} \\w{3} 20\\d\\d at \\d\\d:\\d\\d|\\w{3}, \\d\\d \\w{3} 20\\d\\d [\\d:]{8} GMT)',
    '(?<duration>(?<="(?:duration_ms|durationMs|\\w+Ms)":)[\\d.]+)|(?<ms>[\\d.]+(?= ms\\b))',
    '(?<hint>(?<="secretHint":"|secret ends in )\\w{4})|(?<left>(?<=;[rt]=|retry-after: )[1-9]\\d*)',
  ].join('|'),
  'gi',
)
const HOUR_MS = 3_600_000
/**
 * The real clock dates rows of activity, sessions of 12 hours and certificates of 30 days. Examples of the
 * documents have fixed dates, which are near it for a few hours of their own.
 */
const isRealTime = (at_ms: number): boolean =>
  [0, 12 * HOUR_MS, 30 * 24 * HOUR_MS].some((ahead_ms) => Math.abs(at_ms - Date.now() - ahead_ms) < HOUR_MS)

/** Names what is another one in each run, and finds by its name what a story's own lines mean. */
function createNaming() {
  const { nameOf: numbered, values } = createNames()
  const SHOWN: Record<string, (text: string) => string> = {
    now: (text) => (isRealTime(Date.parse(text.replace(' at', ''))) ? 'NOW' : text),
    duration: () => '"…"',
    ms: () => '…',
    left: () => '…',
    entry: (text) => `"${numbered('entry', text.replaceAll('"', ''))}"`,
    hint(text) {
      const secret = [...values].find(([, value]) => /^ias_/.test(value) && value.endsWith(text))
      return secret ? `end of ${secret[0]}` : text
    },
    cursor(text) {
      const position = String(Buffer.from(text, 'base64url'))
      if (!/^\[[ -~]+\]$/.test(position)) return text.length < 43 ? text : numbered('random', text)
      const shown = name(position).replaceAll('"', "'")
      return `after ${shown.replace(/(?<=,)\d+(?=\]$)/, (entry) => numbered('entry', entry))}`
    },
  }
  const name = (text: string): string => {
    // The hint of a new client's secret stands before it.
    for (const [secret] of text.matchAll(/ias_\w{49}/g)) numbered('secret', secret)
    return text.replaceAll(NAMED, (...parts) => {
      const [kind = '', found] =
        Object.entries<string>(parts.at(-1)).find(([, part]) => part !== undefined) ?? []
      return SHOWN[kind]?.(found ?? '') ?? numbered(kind, found ?? '')
    })
  }
  return {
    name,
    isNamed: (text: string): boolean => [...values.values()].includes(text),
    /** Returns the text with values in place of their names. `x{3}` is xxx, and `«ab»{2}` abab. */
    resolve: (text: string): string =>
      text
        .replaceAll(/\b[a-z]+-\d+\b/g, (given) => values.get(given) ?? given)
        .replaceAll(/([^»])\{(\d+)\}/g, (_, character, times) => character.repeat(Number(times)))
        .replaceAll(/«(.+?)»\{(\d+)\}/g, (_, group, times) => group.repeat(Number(times))),
  }
}

type Fields = Record<string, string>

/** The fields of every answer, which a step shows only where they are others. */
const USUAL_FIELDS: Fields = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
}
const NOT_SHOWN = new Set([
  'date',
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'x-request-id',
])
/** What is logged by work after the answer, which may be done before or after the next. */
const LATER = ['client.revoked', 'client.secret_found', 'mail.sent']
const SHOWN_AS = { breakLength: 300, compact: 9, depth: 20, maxArrayLength: 1_000, maxStringLength: 20_000 }
const LEVELS: Record<number, string> = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'error' }

/** Returns the members that differ from those of `usual`, null for one that is missing. */
const changesFrom = <T>(usual: Record<string, T>, given: Record<string, T>): Record<string, T | null> =>
  Object.fromEntries(
    Object.keys({ ...usual, ...given })
      .filter((name) => !isDeepStrictEqual(usual[name], given[name]))
      .map((name) => [name, given[name] ?? null]),
  )

/** Writes down what is asked of an API, whole, and what it answers, logs and mails. */
export function createStory(api: TestApi, onLogged: (line: Record<string, unknown>) => void) {
  const parts: string[] = []
  const later: [event: unknown, heading: string, line: { clientId?: string }][] = []
  const { name, isNamed, resolve } = createNaming()
  const add = (text: string) => void parts.push(name(text))
  const show = (value: unknown) => inspect(JSON.parse(name(JSON.stringify(value))), SHOWN_AS)
  api.logLines.length = 0

  /** Adds the lines that were logged since, without what its answer shows already. */
  function addLog(requestId?: string | null, answered: Record<string, unknown> = {}): void {
    for (const text of api.logLines.splice(0)) {
      const { level, time: _time, pid: _pid, hostname: _host, stack: _stack, msg, ...line } = JSON.parse(text)
      onLogged(line)
      if (/^(?:redis|housekeeping|workload_issuer)\./.test(line.event)) continue
      if (line.requestId === requestId) delete line.requestId
      if (line.duration_ms >= 0) delete line.duration_ms
      // Which statement failed first, and how, is another one in each run.
      if (line.event === 'request.failed' && line.problem === 'unavailable') line.error = '…'
      const isUsual = Object.keys(changesFrom(line, { ...line, ...answered })).length === 0
      if (isUsual) for (const field of Object.keys(answered)) delete line[field]
      const event = line.action === 'client.secret_found' ? line.action : line.event
      const heading = `${LEVELS[level]} ${msg}`
      // Named once it is added: in a line of another story, client-1 would be what was revoked there.
      if (LATER.includes(event)) later.push([event, heading, line])
      else parts.push(`${heading} ${show(line)}`)
    }
  }
  /** Of the answer before. */
  let rates: Fields = {}
  /** The first problem of each code. */
  const problems = new Map<string, Record<string, unknown>>()
  /** Shows what the first problem of its code in this story did not show. */
  function showBody(body: Record<string, unknown>): string {
    const { code } = body
    if (typeof code !== 'string') return show(body)
    const first = problems.get(code)
    if (!first) problems.set(code, body)
    return first ? `${code} ${show(changesFrom(first, body))}` : show(body)
  }
  function addAnswer({ headers, status, text, json }: ApiResponse): void {
    const type = status < 400 ? 'application/json; charset=utf-8' : 'application/problem+json'
    const shown = [...new Set(headers.keys())].filter((field) => !NOT_SHOWN.has(field))
    const write = (field: string) => name(`${field}: ${headers.get(field)}`).slice(field.length + 2)
    const named = shown.map((field) => [field, write(field)] as const)
    const fields: Fields = Object.fromEntries(named)
    const others = changesFrom({ ...USUAL_FIELDS, 'content-type': type, ...rates }, fields)
    rates = Object.fromEntries(named.filter(([field]) => field.startsWith('ratelimit')))
    const lines = Object.entries(others).map(([field, value]) =>
      value ? `${field}: ${value}` : `no ${field}`,
    )
    parts.push([`< ${status}`, ...lines].join('\n'))
    const requestId = headers.get('x-request-id') ?? ''
    assert.match(requestId, /^[\w-]{36}$/)
    const length = headers.get('content-length')
    if (length && text && !headers.has('content-encoding'))
      assert.equal(Number(length), Buffer.byteLength(text))
    if (json === undefined) add(text)
    else
      parts.push(showBody(json.requestId === requestId ? { ...json, requestId: 'its X-Request-Id' } : json))
  }

  return {
    add,
    addLog,
    /** Gives what is in the text its name, without adding it. */
    name,
    resolve,
    async ask(caller: string, method: string, path: string, sent: ApiRequest): Promise<ApiResponse> {
      addLog()
      // So that an order by time is one.
      api.clock.advance(1_000)
      add(`\n> ${method} ${path}${caller === '-' ? '' : ` as ${caller}`}`)
      for (const pair of Object.entries(sent.headers ?? {})) add(pair.join(': '))
      if (sent.body !== undefined) parts.push(show(sent.body).slice(0, 2_000))
      const response = await api.request(method, path, sent)
      addAnswer(response)
      const { status, json } = response
      const of = { clientAddress: '127.0.0.1', method, status, problem: json?.code }
      addLog(response.headers.get('x-request-id'), { event: 'request.answered', ...of })
      return response
    },
    /** Waits for the line about work after an answer, and adds it. */
    async logged(event: string): Promise<void> {
      const find = () =>
        later.findIndex(([of, , { clientId }]) => of === event && (!clientId || isNamed(clientId)))
      await eventually(() => {
        addLog()
        return find() >= 0
      })
      for (const [, heading, line] of later.splice(find(), 1)) parts.push(`\nlater: ${heading} ${show(line)}`)
    },
    /** Waits, and leaves out what is logged meanwhile. */
    async until(holds: () => Promise<unknown>): Promise<void> {
      addLog()
      await eventually(holds)
      api.logLines.length = 0
    },
    addMail({ source, text, html }: ArrivedMail): void {
      const fields = source.slice(0, source.indexOf('\r\n\r\n')).replaceAll('\r', '')
      const fixed = fields.replace(/^Date: .*/m, 'Date: NOW').replace(/--_\w+-\w+-/, '--…-')
      add(`\nmail:\n${fixed}\n\n${text}\n${html}`)
    },
    /** A heading of a page would begin another text of the recorded file. */
    text: () => parts.join('\n').replaceAll(/^(?=## )/gm, ' '),
  }
}
