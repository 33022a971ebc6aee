import { z } from 'zod'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 200
/** The longest one has a person's name: 200 code points of up to 4 bytes, in base64url. */
const CURSOR_LIMIT_CHARACTERS = 1_500

/** A time in a cursor, in microseconds. Postgres has no year 0. */
export const cursorTime = z.iso.datetime({ precision: 6 }).refine((at) => !at.startsWith('0000'))

/** The query parameters of a list. `position` is the content of its cursor: where the previous page ended. */
export const pageParameters = <T extends z.ZodType>(position: T) => ({
  limit: z
    .string()
    .regex(/^\d{1,6}$/, 'must be a whole number')
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= LIMIT_MAX, `must be between 1 and ${LIMIT_MAX}`)
    .default(LIMIT_DEFAULT)
    .meta({
      type: 'integer',
      pattern: undefined,
      minimum: 1,
      maximum: LIMIT_MAX,
      default: LIMIT_DEFAULT,
      description: 'The maximum number of entries.',
    }),
  cursor: z
    .string()
    .max(CURSOR_LIMIT_CHARACTERS, 'is not a cursor of this list')
    .transform((text, context): z.infer<T> => {
      const parsed = position.safeParse(decodeCursor(text))
      if (parsed.success) return parsed.data
      context.addIssue({ code: 'custom', message: 'is not a cursor of this list' })
      return z.NEVER
    })
    .optional()
    .meta({ description: 'The `nextCursor` of the previous page.' }),
})

/** Returns how many pages of the default size a query requests at once; 1 if it requests no page. */
export function countPages({ limit }: { limit?: unknown }): number {
  const entries = typeof limit === 'string' ? Number(limit) : LIMIT_DEFAULT
  return entries > LIMIT_DEFAULT && entries <= LIMIT_MAX ? Math.ceil(entries / LIMIT_DEFAULT) : 1
}

function decodeCursor(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
}

/**
 * Cuts rows read with `limit + 1` to one page.
 * Returns the page, and the cursor of the next one or null on the last page.
 */
export function page<T>(
  rows: readonly T[],
  limit: number,
  positionOf: (row: T) => unknown,
): { rows: readonly T[]; nextCursor: string | null } {
  const pageRows = rows.slice(0, limit)
  const last = pageRows.at(-1)
  if (rows.length <= limit || last === undefined) return { rows: pageRows, nextCursor: null }
  return { rows: pageRows, nextCursor: encodeCursor(positionOf(last)) }
}

export const encodeCursor = (position: unknown): string =>
  Buffer.from(JSON.stringify(position)).toString('base64url')

export const nextCursor = z
  .string()
  .nullable()
  .meta({ description: 'Send it as `cursor` to get the next page; null on the last page.' })
