import { z } from 'zod'
import { type InputError, Problem } from '../problems/problems.ts'
import type { ApiContext } from './state.ts'

const ERRORS_SHOWN = 20
/** A longer name of an unknown member is not repeated. */
const NAME_SHOWN_CHARACTERS = 255

export const invalidInput = (detail: string, ...errors: InputError[]): Problem =>
  new Problem('invalid_input', detail, { errors })

/** Returns the problem of one member of a body, which no schema can see. */
export const invalidMember = (pointer: string, detail: string): Problem =>
  invalidInput('The body is invalid; see errors.', { pointer, detail })

type InputKind = 'field' | 'parameter'

/** Returns the detail for an unknown field of a body, or parameter of a query. */
export const unknownName = (kind: InputKind) => `is not a known ${kind}`

/** Returns whether an error's pointer has a name that the caller invented. */
export const isUnknownName = ({ detail }: InputError): boolean =>
  detail === unknownName('field') || detail === unknownName('parameter')

export const longName = (kind: InputKind) => `must not have a ${kind} with such a long name`

/**
 * Turns zod's issues into the `errors[]` of a problem. No value that was sent is repeated.
 * @param pointerOf turns an issue's RFC 6901 pointer into the pointer to show.
 */
export function inputErrors(
  issues: readonly z.core.$ZodIssue[],
  pointerOf: (pointer: string) => string,
  kind: InputKind = 'field',
): InputError[] {
  const errors = new Map<string, InputError>()
  for (const { path, detail } of findings(issues, kind)) {
    const pointer = pointerOf(jsonPointer(path))
    // A value of the wrong type often violates other rules too. The first error is enough.
    if (!errors.has(pointer)) errors.set(pointer, { pointer, detail })
    if (errors.size === ERRORS_SHOWN) break
  }
  return [...errors.values()]
}

function* findings(
  issues: readonly z.core.$ZodIssue[],
  kind: InputKind,
): Generator<{ path: PropertyKey[]; detail: string }> {
  for (const issue of issues) {
    if (issue.code === 'unrecognized_keys')
      for (const key of issue.keys)
        yield key.length > NAME_SHOWN_CHARACTERS
          ? { path: issue.path, detail: longName(kind) }
          : { path: [...issue.path, key], detail: unknownName(kind) }
    else yield { path: issue.path, detail: sentence(issue) }
  }
}

/** Options of zod's parsers. Its own message joins the names of all unknown members. */
export const ZOD_OPTIONS = {
  error: ({ code }: { code?: string }) => (code === 'unrecognized_keys' ? unknownName('field') : undefined),
}

/** Rewords zod's own message for a wrong type to match those of the schemas. */
const sentence = (issue: z.core.$ZodIssue): string =>
  issue.code === 'invalid_type' && issue.message.startsWith('Invalid input')
    ? `must be of type ${issue.expected}`
    : issue.message

const jsonPointer = (path: readonly PropertyKey[]): string =>
  path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

/**
 * Returns a validator of the query. It throws Problem 422 for an unknown parameter, a repeated one, or a
 * value that does not match `schema`.
 */
export function queryReader<Schema extends z.ZodObject>(
  schema: Schema,
): (ctx: ApiContext) => z.infer<Schema> {
  const empty: z.infer<Schema> | undefined = schema.safeParse({}).data
  return ({ querystring }) => (querystring === '' && empty) || parseQuery(schema, querystring)
}

export function parseQuery<T extends z.ZodObject>(schema: T, querystring: string): z.infer<T> {
  const parameters = new Map<string, string>()
  const repeated = new Set<string>()
  for (const [name, value] of new URLSearchParams(querystring)) {
    if (!parameters.has(name)) parameters.set(name, value)
    else if (Object.hasOwn(schema.shape, name)) repeated.add(name)
  }
  const errors = [...repeated].map((name) => ({ pointer: `?${name}`, detail: 'must be sent once' }))
  const result = schema.safeParse(Object.fromEntries(parameters), ZOD_OPTIONS)
  if (!result.success)
    errors.push(...inputErrors(result.error.issues, (pointer) => `?${pointer.slice(1)}`, 'parameter'))
  if (errors.length > 0 || !result.success)
    throw invalidInput('A query parameter is invalid; see errors.', ...errors.slice(0, ERRORS_SHOWN))
  return result.data
}

/** Returns a validator of the headers that `schema` names. It throws Problem 422 if they do not match it. */
export function headersReader<Schema extends z.ZodObject>(
  schema: Schema,
): (ctx: ApiContext) => z.infer<Schema> {
  const names = Object.keys(schema.shape)
  return (ctx) => {
    const values = names.map((name) => [name, ctx.headers[name.toLowerCase()]])
    const result = schema.safeParse(Object.fromEntries(values))
    if (result.success) return result.data
    const errors = inputErrors(result.error.issues, (pointer) => pointer.slice(1))
    throw invalidInput('A header is invalid; see errors.', ...errors)
  }
}

/**
 * Controls, line separators, bidirectional overrides and other invisible characters, none of which anyone
 * types into a name. Joiners, marks of direction and what forms emoji are allowed.
 */
const UNPRINTABLE =
  /[[\p{Cc}\u2028\u2029\p{Default_Ignorable_Code_Point}]--[\u200C-\u200F\p{Variation_Selector}\u{E0020}-\u{E007F}]]/v
/** U+2800 is a blank Braille cell. */
const VISIBLE = /[[\p{L}\p{N}\p{P}\p{S}]--[\u2800]]/v

/** One line of text typed by a person. It is trimmed; `min` and `max` count characters (code points). */
export const oneLine = (min: number, max: number) =>
  z
    .string('must be a string')
    .trim()
    .refine((text) => {
      const length = [...text].length
      return length >= min && length <= max
    }, `must have ${min} to ${max} characters`)
    .refine(
      (text) => text.isWellFormed() && VISIBLE.test(text) && !UNPRINTABLE.test(text),
      'must be one line of plain text without invisible characters',
    )
    // As much of the rule as the regular expressions of all languages can say.
    .meta({
      pattern: '^[^\\x00-\\x1F\\x7F]*$',
      description: 'One line of plain text without invisible characters. Spaces around it are removed.',
    })
