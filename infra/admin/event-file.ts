import { isUtf8 } from 'node:buffer'
import { parse } from 'csv-parse/sync'
import { parseUnrounded } from '#shared/analytics/exact-numbers.ts'
import { OperatorError } from './operator.ts'

const LINE_MAX_BYTES = 65_536
const LINE_FEED = 0x0a

export type EventFileFormat = 'csv' | 'ndjson'

/** A line of the file: an event as sent to the API, or the reason why the line is unusable. */
export type EventLine = { number: number } & ({ sent: unknown } | { fault: string })

export const CSV_COLUMNS = ['eventId', 'type', 'occurredAt', 'quantity', 'amountMinor', 'currency'] as const
const CSV_COLUMNS_NEEDED = ['eventId', 'type', 'occurredAt']

/**
 * Reads events, one per line, a few hundred at a time, so that memory does not grow with the file or its lines. Empty
 * lines are skipped. Line breaks within quotes are not supported, since no value of an event may contain one.
 * @throws OperatorError if a CSV file has no usable header.
 */
export async function* readEvents(
  chunks: AsyncIterable<Buffer>,
  format: EventFileFormat,
): AsyncGenerator<EventLine[]> {
  let read = format === 'ndjson' ? readNdjson : undefined
  for await (const lines of readLines(chunks)) {
    const events: EventLine[] = []
    for (const { number, text } of lines) {
      if (text === undefined)
        events.push({ number, fault: `is not UTF-8 or longer than ${LINE_MAX_BYTES} bytes` })
      else if (text.trim() === '') continue
      else if (!read) read = csvReader(text)
      else events.push({ number, ...read(text) })
    }
    yield events
  }
  if (!read) throw new OperatorError('The file has no header line.')
}

interface Line {
  /** Counted from 1. */
  number: number
  /** undefined if the line is too long or not UTF-8. */
  text: string | undefined
}

/** Yields the lines of a file, one chunk at a time. A line over 64 KiB has no text. */
export async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Line[]> {
  let number = 0
  let begun: Buffer[] = []
  let begun_bytes = 0

  function end(last: Buffer): Line {
    number += 1
    const tooLong = begun_bytes + last.length > LINE_MAX_BYTES
    const bytes = begun.length === 0 ? last : Buffer.concat([...begun, last])
    begun = []
    begun_bytes = 0
    if (tooLong || !isUtf8(bytes)) return { number, text: undefined }
    const text = bytes.toString().replace(/\r$/, '')
    return { number, text: number === 1 ? text.replace(/^\uFEFF/, '') : text }
  }

  for await (const chunk of chunks) {
    const lines: Line[] = []
    let start = 0
    for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, start)) {
      lines.push(end(chunk.subarray(start, at)))
      start = at + 1
    }
    const rest = chunk.subarray(start)
    // The rest of an overlong line is dropped.
    if (rest.length > 0 && begun_bytes <= LINE_MAX_BYTES) begun.push(rest)
    begun_bytes += rest.length
    yield lines
  }
  if (begun_bytes > 0) yield [end(Buffer.alloc(0))]
}

function readNdjson(text: string): { sent: unknown } | { fault: string } {
  try {
    return { sent: parseUnrounded(text) }
  } catch {
    return { fault: 'is not JSON' }
  }
}

/** @throws OperatorError if the header has an unknown column or lacks a required one. */
function csvReader(header: string): (text: string) => { sent: unknown } | { fault: string } {
  const columns = csvFields(header) ?? []
  const unknown = columns.filter((name) => !(CSV_COLUMNS as readonly string[]).includes(name))
  const lacking = CSV_COLUMNS_NEEDED.filter((name) => !columns.includes(name))
  if (unknown.length > 0 || lacking.length > 0 || new Set(columns).size < columns.length) {
    throw new OperatorError(
      `The header line must name each column once: ${CSV_COLUMNS_NEEDED.join(', ')} and, where needed, quantity, amountMinor, currency.`,
    )
  }
  return (text) => {
    const fields = csvFields(text)
    if (!fields) return { fault: 'has unbalanced quotes' }
    if (fields.length !== columns.length)
      return { fault: `has ${fields.length} values for ${columns.length} columns` }
    const given = columns.flatMap((name, index) => {
      const value = fields[index] as string
      return value === '' ? [] : [[name, csvValue(name, value)]]
    })
    return { sent: Object.fromEntries(given) }
  }
}

/** Splits a line as RFC 4180 defines. Returns undefined if the quotes are unbalanced. */
function csvFields(line: string): string[] | undefined {
  if (!line.includes('"')) return line.split(',')
  try {
    return (parse(line) as string[][])[0]
  } catch {
    return undefined
  }
}

/** Keeps anything but a whole number as text, which event validation refuses. */
function csvValue(column: string, value: string): unknown {
  const isNumber = (column === 'quantity' || column === 'amountMinor') && /^\d+$/.test(value)
  return isNumber ? Number(value) : value
}
