import { daysBetween } from './calendar.ts'

/*
 * Arrays as parameters of a query in Postgres's binary format (array_send in its arrayfuncs.c), which both sides
 * write and read faster than text. pg sends a Buffer as binary. Integers are big-endian.
 */

const OID = { int8: 20, text: 25, float8: 701, date: 1082 }
const HEADER_BYTES = 20
/** Before each value stands its length. */
const LENGTH_BYTES = 4
const LENGTH_OF_NULL = -1
const TWO_TO_32 = 2 ** 32
/** Postgres counts its days from here. */
const FIRST_DAY = '2000-01-01'

/** An array of one dimension, with room for values of so many bytes in all. */
function startArray(oid: number, length: number, values_bytes: number, hasNull = false): Buffer {
  const array = Buffer.allocUnsafe(HEADER_BYTES + LENGTH_BYTES * length + values_bytes)
  const dimensions = 1
  const lowerBound = 1
  for (const [index, value] of [dimensions, Number(hasNull), oid, length, lowerBound].entries())
    array.writeInt32BE(value, 4 * index)
  return array
}

/** Of well-formed text without NUL. */
export function textArray(values: readonly string[]): Buffer {
  const values_bytes = values.reduce((sum, value) => sum + Buffer.byteLength(value), 0)
  const array = startArray(OID.text, values.length, values_bytes)
  let at = HEADER_BYTES
  for (const value of values) {
    const length = array.write(value, at + LENGTH_BYTES)
    array.writeInt32BE(length, at)
    at += LENGTH_BYTES + length
  }
  return array
}

/** Of whole numbers from 0 to 2^53 - 1. @throws RangeError for another, in place of storing a wrong one. */
export function int8Array(values: readonly (number | null)[]): Buffer {
  const numbers = values.filter((value) => value !== null).length
  const array = startArray(OID.int8, values.length, 8 * numbers, numbers < values.length)
  let at = HEADER_BYTES
  for (const value of values) {
    if (value === null) {
      at = array.writeInt32BE(LENGTH_OF_NULL, at)
      continue
    }
    if (!Number.isSafeInteger(value)) throw new RangeError('not a whole number')
    at = array.writeInt32BE(8, at)
    at = array.writeUInt32BE(Math.floor(value / TWO_TO_32), at)
    at = array.writeUInt32BE(value % TWO_TO_32, at)
  }
  return array
}

export function float8Array(values: readonly number[]): Buffer {
  const array = startArray(OID.float8, values.length, 8 * values.length)
  let at = HEADER_BYTES
  for (const value of values) {
    at = array.writeInt32BE(8, at)
    at = array.writeDoubleBE(value, at)
  }
  return array
}

/** Of dates as `YYYY-MM-DD`. @throws RangeError for what is none, in place of storing a wrong one. */
export function dateArray(values: readonly string[]): Buffer {
  const array = startArray(OID.date, values.length, 4 * values.length)
  // Many events are of few days.
  const days = new Map<string, number>()
  let at = HEADER_BYTES
  for (const value of values) {
    const day = days.get(value) ?? daysBetween(FIRST_DAY, value)
    if (!Number.isInteger(day)) throw new RangeError('not a date')
    days.set(value, day)
    at = array.writeInt32BE(4, at)
    at = array.writeInt32BE(day, at)
  }
  return array
}
