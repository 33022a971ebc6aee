import assert from 'node:assert/strict'

/** Ids and secrets by what they are; the same one is always the same word, such as client-1. */
const KINDS: [pattern: RegExp, kind: string][] = [
  [/cli_[A-Za-z0-9]{22}/g, 'client'],
  [/svc_[A-Za-z0-9]{22}/g, 'service'],
  [/ven_[A-Za-z0-9]{22}/g, 'company'],
  [/usr_[A-Za-z0-9]{22}/g, 'person'],
  [/ias_[A-Za-z0-9]{49}/g, 'secret'],
  [/sid_\w{32}/g, 'session'],
  [/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'uuid'],
  [/(?<![\w-])[\w-]{43}(?![\w-])/g, 'id'],
  [/(?<=")(?!RATE_)[\w-]{27}(?=")/g, 'tag'],
  [/(?<=[[,]')[\w-]{16}(?='[\],])/g, 'digest'],
]
const JWT = /eyJ[\w-]+\.(?:eyJ[\w-]*)?\.?[\w-]*/g

const decodePart = (part = '') => Buffer.from(part, 'base64url').toString()

/** Names a text by its kind and a number, always alike. `values` has what each name stands for. */
export function createNames() {
  const names = new Map<string, string>()
  const values = new Map<string, string>()
  const counts = new Map<string, number>()
  function nameOf(kind: string, text: string): string {
    const key = `${kind} ${text.toLowerCase()}`
    const count = (counts.get(kind) ?? 0) + 1
    const name = names.get(key) ?? `${kind}-${count}`
    if (!names.has(key)) counts.set(kind, count)
    names.set(key, name)
    values.set(name, values.get(name) ?? text)
    return name
  }
  return { nameOf, values }
}

/** Returns a function that writes a text without what is random: a JWT is what it says, an id is a word. */
export function createPlaceholders(): (text: string) => string {
  const { nameOf } = createNames()
  return (text) => {
    const readable = text.replaceAll(JWT, (jwt) => {
      const [header, claims] = jwt.split('.').map(decodePart)
      return `JWT ${header} ${claims} JWT`.replaceAll('"', "'")
    })
    return KINDS.reduce(
      (left, [pattern, kind]) => left.replaceAll(pattern, (id) => nameOf(kind, id)),
      readable,
    )
  }
}

type Answer = { status: number; headers: Headers; text: string }
const NOT_SHOWN = new Set(['date', 'connection', 'keep-alive'])

/** Writes an answer with all its header fields, but for those of the connection. */
export function writeAnswer({ status, headers, text }: Answer): string[] {
  const shown = [...headers]
    .filter(([name]) => !NOT_SHOWN.has(name))
    .map(([name, value]) => `${name}: ${value}`)
  return [`< ${status}`, ...shown, ...(text ? [writeBody(text)] : [])]
}

/** Over several lines if it is long. Fails unless JSON is written as JSON.stringify does. */
function writeBody(body: string): string {
  if (!body.startsWith('{')) return body
  const json = JSON.parse(body)
  assert.equal(JSON.stringify(json), body)
  return body.length < 110 ? body : JSON.stringify(json, null, 2)
}
