import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { z } from 'zod'
import { EventsEnvelope, requireValidEvents } from '../../apps/api/analytics/report-events.ts'
import type { JsonSchema } from '../../apps/api/discovery/openapi/document-shape.ts'
import { createExample } from '../../apps/api/discovery/openapi/examples.ts'
import { resolveSchema } from '../../apps/api/discovery/openapi/shared-components.ts'
import { JSON_BODY_LIMIT_BYTES, parseBody } from '../../apps/api/http/body.ts'
import type { RouteDescription } from '../../apps/api/http/route.ts'
import { parseKeySet } from '../../apps/api/keys/key-set.ts'
import { Problem } from '../../apps/api/problems/problems.ts'
import { describeApi, ROUTES } from '../../apps/api/routes.ts'
import { API_RESOURCE, ISSUER } from '../support/issuer.ts'

const CPU_MAX_MS = 10
const TRIES = 12

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

/** An empty schema looks at nothing. */
const isSchema = (schema: unknown): schema is JsonSchema =>
  typeof schema === 'object' && schema !== null && Object.keys(schema).length > 0

/** More values are refused before they are parsed. */
const VALUES_MAX = 20_000

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

const LETTERS = ['a', ' ', '1', '.', 'é', '😀', '\\n', '\\u0001', '\\ud800', '-', '/', '~', 'a@', 'A\\u0301']

const WAYS: Record<string, (schema: JsonSchema) => Fill[]> = {
  'lists of thousands': ({ items, ...schema }) => [
    list(() => '111'),
    list(() => '""'),
    list(() => '{}'),
    list((at) => `{"${at}":1}`),
    list(() => example(schema)),
    ...(items ? [list(() => example(items as JsonSchema))] : []),
  ],
  'members by the thousand': (schema) => {
    const members = propertiesOf(schema).map(([name, its]) => `"${name}":${example(its, name)},`)
    return [record('1'), record('"a"'), record('{}'), record('1', members.join(''))]
  },
  'a long text, number or name': () => [
    ...LETTERS.map((unit) => text(unit)),
    ...LETTERS.map((unit) => text(unit, '{"', '":1}')),
    text('1', '1', '1'),
    text('1', '0.', '1'),
  ],
  'deep nesting': () => [
    list(() => '['.repeat(24) + ']'.repeat(24)),
    list(() => `${'{"a":'.repeat(24)}1${'}'.repeat(24)}`),
    text('['),
  ],
  'what every variant refuses': (schema) => {
    const variants = variantsOf(schema).map(resolved)
    const names = new Set(variants.flatMap((variant) => propertiesOf(variant).map(([name]) => name)))
    return ['[]', '{}', '"x"', '-1'].flatMap((value) => {
      const members = [...names].map((name) => `"${name}":${value}`).join()
      return [() => `{${members}}`, list(() => `{${members}}`), record(value, members && `${members},`)]
    })
  },
}

/** Returns the longest time, in ms, for which `read` held the event loop, by `now_ms`. */
async function longestTurn_ms(read: () => unknown, now_ms: () => number): Promise<number> {
  let longest_ms = 0
  let began_ms = now_ms()
  const endTurn = () => {
    longest_ms = Math.max(longest_ms, now_ms() - began_ms)
    began_ms = now_ms()
    nextTurn = setImmediate(endTurn)
  }
  let nextTurn = setImmediate(endTurn)
  await read()
  clearImmediate(nextTurn)
  return Math.max(longest_ms, now_ms() - began_ms)
}

/** Returns the least of several tries. */
async function heldUp_ms(read: () => unknown): Promise<number> {
  let least_ms = Number.POSITIVE_INFINITY
  // A clock shows at least the CPU time, and more precisely than some systems measure that.
  for (const now_ms of [() => performance.now(), threadCpu_ms])
    for (let at = 0; at < TRIES && least_ms > CPU_MAX_MS; at++)
      least_ms = Math.min(least_ms, await longestTurn_ms(read, now_ms))
  return least_ms
}

function threadCpu_ms(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** A refusal is turned into the answer. Everything else is a fault. */
async function refusing(read: () => unknown): Promise<void> {
  try {
    await read()
  } catch (error) {
    if (!(error instanceof Problem)) throw error
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
    const { operationId, bodyOptions: { limit_bytes = JSON_BODY_LIMIT_BYTES } = {} } = route
    const read = readerOf(route)
    const schema = z.toJSONSchema(published, { io: 'input', unrepresentable: 'any' }) as JsonSchema
    const places = [...placesIn(schema, '', (fill) => fill)]

    for (const [way, fillsOf] of Object.entries(WAYS))
      it(`takes at most ${CPU_MAX_MS} ms with ${way}: ${operationId}`, async () => {
        for (const { path, schema, bodyWith } of places)
          for (const fill of fillsOf(schema)) {
            const body = Buffer.from(bodyWith(fill)(limit_bytes))
            const taken_ms = await heldUp_ms(() => refusing(() => read(body)))
            const what = `${path} of ${body.subarray(0, 300)}…, ${body.length} bytes`
            assert.ok(taken_ms <= CPU_MAX_MS, `${taken_ms.toFixed(1)} ms: ${what}`)
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

  const keys = {
    RSA: generateKeyPairSync('rsa', { modulusLength: 4_096 }),
    'P-384': generateKeyPairSync('ec', { namedCurve: 'P-384' }),
    Ed25519: generateKeyPairSync('ed25519'),
  }
  for (const [kind, { publicKey }] of Object.entries(keys))
    it(`takes at most ${CPU_MAX_MS} ms with as many ${kind} keys as a set may have`, async () => {
      const [[, { maxItems }]] = propertiesOf(schemas.JsonWebKeySet as JsonSchema) as [[string, JsonSchema]]
      const set = { keys: Array(maxItems).fill(publicKey.export({ format: 'jwk' })) }
      const taken_ms = await heldUp_ms(() => assert.equal(parseKeySet(set).length, maxItems))
      assert.ok(taken_ms <= CPU_MAX_MS, `${taken_ms.toFixed(1)} ms`)
    })
})
