import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { z } from 'zod'
import { EventsEnvelope, requireValidEvents } from '../../apps/api/analytics/report-events.ts'
import type { JsonSchema } from '../../apps/api/discovery/openapi/document-shape.ts'
import { createExample } from '../../apps/api/discovery/openapi/examples.ts'
import { resolveSchema } from '../../apps/api/discovery/openapi/shared-components.ts'
import { JSON_BODY_LIMIT_BYTES, parseBody } from '../../apps/api/http/body.ts'
import { VALUES_MAX } from '../../apps/api/http/json.ts'
import type { RouteDescription } from '../../apps/api/http/route.ts'
import { KEYS_MAX, parseKeySet } from '../../apps/api/keys/key-set.ts'
import { Problem } from '../../apps/api/problems/problems.ts'
import { describeApi, ROUTES } from '../../apps/api/routes.ts'
import { API_RESOURCE, ISSUER } from '../support/issuer.ts'

const CPU_MAX_MS = 10
const TRIES = 12
const ROUNDS = 4
/** More values than a body may have. What reading them takes says how busy a machine is. */
const LARGEST = JSON.stringify(Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`!${at}`, 1])))

const document = describeApi({ issuer: ISSUER, apiResource: API_RESOURCE })
const { schemas } = document.components

/** Returns JSON text of about this length. */
type Fill = (length: number) => string

interface Place {
  path: string
  schema: JsonSchema
  /** Returns a body that has `fill` at this place. */
  bodyWith: (fill: Fill) => Fill
}

const resolved = (schema: JsonSchema): JsonSchema =>
  typeof schema.$ref === 'string' ? resolveSchema(schemas, { $ref: schema.$ref }) : schema

const example = (schema: JsonSchema, name = ''): string =>
  JSON.stringify(createExample(schema, schemas, name))

const variantsOf = ({ anyOf, oneOf, allOf }: JsonSchema): JsonSchema[] =>
  (anyOf ?? oneOf ?? allOf ?? []) as JsonSchema[]

const propertiesOf = ({ properties }: JsonSchema): [string, JsonSchema][] =>
  Object.entries((properties ?? {}) as Record<string, JsonSchema>)

/** As many as are looked at, each with its share of the length. */
const entries = (max: unknown, fill: Fill, nameOf: (at: number) => string): Fill => {
  const count = typeof max === 'number' ? max : 1
  return (length) => {
    const entry = fill(Math.floor(length / count) - nameOf(count).length - 1)
    return Array.from({ length: count }, (_, at) => nameOf(at) + entry).join()
  }
}

/** Yields a schema and every schema in it. */
function* placesIn(unresolved: JsonSchema, path: string, bodyWith: Place['bodyWith']): Generator<Place> {
  const schema = resolved(unresolved)
  yield { path, schema, bodyWith }
  for (const variant of variantsOf(schema)) yield* placesIn(variant, path, bodyWith)
  const properties = propertiesOf(schema)
  for (const [name, member] of properties)
    yield* placesIn(member, `${path}/${name}`, (fill) =>
      bodyWith((length) => {
        const others = properties.filter(([other]) => other !== name)
        const texts = others.map(([other, its]) => `"${other}":${example(its, other)}`)
        const rest = length - texts.join().length - name.length - 8
        return `{${[...texts, `"${name}":${fill(rest)}`].join()}}`
      }),
    )
  const { items, additionalProperties, maxItems, maxProperties } = schema
  if (items)
    yield* placesIn(items as JsonSchema, `${path}/*`, (fill) => {
      const all = entries(maxItems, fill, () => '')
      return bodyWith((length) => `[${all(length)}]`)
    })
  if (isSchema(additionalProperties))
    yield* placesIn(additionalProperties, `${path}/*`, (fill) => {
      const all = entries(maxProperties, fill, (at) => `"a${at}":`)
      return bodyWith((length) => `{${all(length)}}`)
    })
}

/** Variants share schemas of members. */
const distinct = (places: Place[]): Place[] => [
  ...new Map(places.map((place) => [place.path + JSON.stringify(place.schema), place])).values(),
]

/** An empty schema looks at nothing. */
const isSchema = (schema: unknown): schema is JsonSchema =>
  typeof schema === 'object' && schema !== null && Object.keys(schema).length > 0

const repeat = (open: string, unit: (at: number) => string, close: string): Fill => {
  const values = unit(0).split(/[,[{]/).length
  return (length) => {
    const units: string[] = []
    let left = length - open.length - close.length
    for (let at = 0; at * values < VALUES_MAX * 0.95; at++) {
      const next = unit(at)
      left -= next.length + 1
      if (left < 0) break
      units.push(next)
    }
    return open + units.join() + close
  }
}
const list = (unit: (at: number) => string): Fill => repeat('[', unit, ']')
const record = (value: string, first = ''): Fill =>
  repeat(`{${first}`, (at) => `"!${at.toString(36)}":${value}`, '}')
const text =
  (unit: string, open = '"', close = '"'): Fill =>
  (length) =>
    open + unit.repeat(Math.max(0, (length - open.length - close.length) / Buffer.byteLength(unit))) + close

const TEXTS = ['a', ' ', '.', '😀', '\\u0001', '\\ud800', '/', 'a@', 'A\\u0301'].map((unit) => text(unit))
const NAMES = ['a', '\\u0001', '~'].map((unit) => text(unit, '{"', '":1}'))
const NUMBERS = [text('1', '1', '1'), text('1', '0.', '1')]
const LISTS = [list(() => '111'), list(() => '""'), list(() => '{}'), list((at) => `{"${at}":1}`)]
const RECORDS = [record('1'), record('"a"'), record('{}')]
const NESTED = [
  list(() => `${'{"a":'.repeat(24)}1${'}'.repeat(24)}`),
  list(() => '['.repeat(24) + ']'.repeat(24)),
  text('['),
]

/** Returns the fills; only the first for a value without parts, which refuses any of them at once. */
const orFirst = ({ type }: JsonSchema, fills: Fill[]): Fill[] =>
  /^(?:string|number|integer|boolean)$/.test(String(type)) ? fills.slice(0, 1) : fills

const WAYS: Record<string, (schema: JsonSchema) => Fill[]> = {
  'lists of thousands': ({ items, ...schema }) => {
    const values = items ? [schema, items as JsonSchema] : [schema]
    return orFirst(schema, [...LISTS, ...values.map((value) => list(() => example(value)))])
  },
  'members by the thousand': (schema) => {
    const members = propertiesOf(schema).map(([name, its]) => `"${name}":${example(its, name)},`)
    return orFirst(schema, [...RECORDS, record('1', members.join(''))])
  },
  'a long text, number or name': ({ type = '', const: only }) => [
    ...(type === 'string' && only === undefined ? TEXTS : TEXTS.slice(0, 1)),
    ...(type === '' || type === 'object' ? NAMES : []),
    ...(type === 'object' || type === 'string' ? [] : NUMBERS),
  ],
  'deep nesting': (schema) => orFirst(schema, NESTED),
  'what every variant refuses': (schema) => {
    const variants = variantsOf(schema).map(resolved)
    const names = new Set(variants.flatMap((variant) => propertiesOf(variant).map(([name]) => name)))
    return (names.size > 0 ? ['[]', '{}', '"x"', '-1'] : ['-1']).flatMap((value) => {
      const members = [...names].map((name) => `"${name}":${value}`).join()
      return [() => `{${members}}`, list(() => `{${members}}`), record(value, members && `${members},`)]
    })
  },
}

/** Returns the longest time, in ms, for which `read` held the event loop. */
async function longestTurn_ms(read: () => unknown): Promise<number> {
  let longest_ms = 0
  let turn_ms = stopwatch_ms()
  const endTurn = () => {
    longest_ms = Math.max(longest_ms, turn_ms())
    turn_ms = stopwatch_ms()
    nextTurn = setImmediate(endTurn)
  }
  let nextTurn = setImmediate(endTurn)
  await read()
  clearImmediate(nextTurn)
  return Math.max(longest_ms, turn_ms())
}

/** By the clock, which counts others' work, or by CPU time, which may go in steps, if that is less. */
function stopwatch_ms(): () => number {
  const began_ms = performance.now()
  const before = process.threadCpuUsage()
  return () => {
    const { user, system } = process.threadCpuUsage(before)
    return Math.min(performance.now() - began_ms, (user + system) / 1_000)
  }
}

const heldUp_ms = (read: () => unknown): Promise<number> => least_ms(read, CPU_MAX_MS)

/** Returns the least of several tries, of which the first within the limit is the last. */
async function least_ms(read: () => unknown, enough_ms: number): Promise<number> {
  let shortest_ms = Number.POSITIVE_INFINITY
  for (let at = 0; at < TRIES && shortest_ms > enough_ms; at++)
    shortest_ms = Math.min(shortest_ms, await longestTurn_ms(read))
  return shortest_ms
}

/** Returns the limit, or on a slow machine twice what it takes at this moment to read the largest body. */
async function allowed_ms(taken_ms: number): Promise<number> {
  if (taken_ms <= CPU_MAX_MS) return CPU_MAX_MS
  return Math.max(CPU_MAX_MS, 2 * (await least_ms(() => Object.keys(JSON.parse(LARGEST)), 0)))
}

/** Fails only if it takes too long again and again, since the machine may slow down between two readings. */
async function assertQuick(read: () => unknown, what: () => string): Promise<void> {
  let taken_ms = 0
  for (let round = 0; round < ROUNDS; round++) {
    taken_ms = await heldUp_ms(read)
    if (taken_ms <= (await allowed_ms(taken_ms))) return
  }
  assert.fail(`${taken_ms.toFixed(1)} ms: ${what()}`)
}

/** A refusal is turned into the answer. Everything else is a fault. */
async function refusing(read: () => unknown): Promise<void> {
  try {
    await read()
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    assert.ok(Error.stackTraceLimit > 0, 'no later error would have a trace')
    JSON.stringify(error.errors)
  }
}

const eventRules = { timezone: 'Europe/Berlin', currency: 'EUR' }

function readerOf({ operationId, body }: RouteDescription): (bytes: Buffer) => unknown {
  if (body) return (bytes) => parseBody(body, bytes)
  // It reads its body itself.
  assert.equal(operationId, 'reportEvents')
  return (bytes) =>
    requireValidEvents(parseBody(EventsEnvelope, bytes).events, eventRules, Date.parse('2026-11-20'))
}

describe('a hostile body', () => {
  for (const route of ROUTES as readonly RouteDescription[]) {
    const published = route.body ?? route.publishedBody
    if (!published) continue
    const { operationId, bodyLimit_bytes: limit_bytes = JSON_BODY_LIMIT_BYTES } = route
    const read = readerOf(route)
    const schema = z.toJSONSchema(published, { io: 'input', unrepresentable: 'any' }) as JsonSchema
    const places = distinct([...placesIn(schema, '', (fill) => fill)])

    for (const [way, fillsOf] of Object.entries(WAYS))
      it(`takes at most ${CPU_MAX_MS} ms with ${way}: ${operationId}`, async () => {
        for (const [bodyWith, group] of Map.groupBy(places, (place) => place.bodyWith))
          for (const fill of new Set(group.flatMap(({ schema }) => fillsOf(schema)))) {
            const body = Buffer.from(bodyWith(fill)(limit_bytes))
            const what = () => `${group[0]?.path} of ${body.subarray(0, 300)}…, ${body.length} bytes`
            await assertQuick(() => refusing(() => read(body)), what)
          }
      })

    it(`has a published maximum for each list and each map: ${operationId}`, () => {
      for (const { path, schema } of places) {
        const { type, additionalProperties, maxItems, maxProperties } = schema
        if (type === 'array') assert.ok(maxItems, path)
        if (isSchema(additionalProperties)) assert.ok(maxProperties, path)
      }
    })
  }

  // Three primes, quicker to find than a modulus.
  const modulus = [2_281n, 1_279n, 521n].reduce((n, bits) => n * (2n ** bits - 1n), 1n)
  const n = Buffer.from(modulus.toString(16).padStart(1_024, '0'), 'hex').toString('base64url')
  const jwkOf = ({ publicKey }: { publicKey: KeyObject }) => publicKey.export({ format: 'jwk' })
  const keys = {
    RSA: { kty: 'RSA', n, e: 'AQAB' },
    'P-384': jwkOf(generateKeyPairSync('ec', { namedCurve: 'P-384' })),
    Ed25519: jwkOf(generateKeyPairSync('ed25519')),
  }
  for (const [kind, key] of Object.entries(keys))
    it(`takes at most ${CPU_MAX_MS} ms with as many ${kind} keys as a set may have`, async () => {
      const set = { keys: Array(KEYS_MAX).fill(key) }
      const read = () => assert.equal(parseKeySet(set).length, KEYS_MAX)
      await assertQuick(read, () => kind)
    })
})
