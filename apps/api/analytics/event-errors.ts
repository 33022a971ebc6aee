import type { InputError } from '../problems/problems.ts'
import type { EventFault } from './event.ts'

/** Leaves room for the rest of the answer, which is limited to 256 KiB in total. */
const ERRORS_LIMIT_BYTES = 255 * 1_024
/** A longer pointer contains a member name that the caller invented. */
const POINTER_LIMIT_BYTES = 100

/**
 * Turns the faults of a call's events into the `errors[]` of a problem. Every invalid event is named. Its
 * further faults are added while there is room.
 * @param faults one list per event, in order; empty if the event is valid.
 */
export function eventErrors(faults: readonly (readonly EventFault[])[]): InputError[] {
  const errors = faults.map((ofEvent, index) => ofEvent.map((fault) => inputError(index, fault)))
  let left_bytes = ERRORS_LIMIT_BYTES
  for (const [first] of errors) if (first) left_bytes -= size_bytes(first)
  return errors.flatMap(([first, ...more]) => {
    if (!first) return []
    const shown = more.filter((error) => {
      left_bytes -= size_bytes(error)
      return left_bytes >= 0
    })
    return [first, ...shown]
  })
}

function inputError(index: number, { path, detail }: EventFault): InputError {
  const parts = path.map((part) => String(part).replaceAll('~', '~0').replaceAll('/', '~1'))
  const pointer = ['/events', index, ...parts].join('/')
  if (Buffer.byteLength(JSON.stringify(pointer)) <= POINTER_LIMIT_BYTES) return { pointer, detail }
  return { pointer: `/events/${index}`, detail: 'must not have a member with such a long name' }
}

/** With the comma that follows it. */
const size_bytes = (error: InputError): number => Buffer.byteLength(JSON.stringify(error)) + 1
