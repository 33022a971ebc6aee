import { isUtf8 } from 'node:buffer'
import { constants, type FileHandle, open } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { CommandEnvironment } from './commands.ts'
import { OperatorError } from './operator.ts'

/* Reads the files that commands are given, line by line. */

export const LINE_MAX_BYTES = 65_536
const LINE_FEED = 0x0a

export interface Line {
  /** Counted from 1. */
  number: number
  /** undefined if the line is too long or not UTF-8. */
  text: string | undefined
  /** Where the next line begins. */
  end_bytes: number
}

/** Resolves a file name. npm runs scripts in the project's folder, and INIT_CWD is where it was called. */
export const fileAt = ({ env }: CommandEnvironment, name: string): string =>
  resolve(env.INIT_CWD ?? '.', name)

/** Opens a file to read it, and nothing else that has a name. @throws OperatorError that names it. */
export async function openFile(file: string): Promise<FileHandle> {
  // A pipe without a writer would never open.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK
  const handle = await open(file, flags).catch(({ code }: NodeJS.ErrnoException) => {
    const fault = code === 'ENOENT' ? 'does not exist' : `cannot be read: ${code}`
    throw new OperatorError(`The file ${file} ${fault}.`)
  })
  if ((await handle.stat()).isFile()) return handle
  await handle.close()
  throw new OperatorError(`${file} is not a file.`)
}

/** Yields the lines of a file, one chunk at a time. Memory grows neither with the file nor with a line. */
export async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Line[]> {
  let number = 0
  let end_bytes = 0
  let parts: Buffer[] = []
  let parts_bytes = 0

  function end(last: Buffer): Line {
    number += 1
    end_bytes += parts_bytes + last.length + 1
    const tooLong = parts_bytes + last.length > LINE_MAX_BYTES
    const bytes = parts.length === 0 ? last : Buffer.concat([...parts, last])
    parts = []
    parts_bytes = 0
    if (tooLong || !isUtf8(bytes)) return { number, text: undefined, end_bytes }
    const text = bytes.toString().replace(/\r$/, '')
    return { number, text: number === 1 ? text.replace(/^\uFEFF/, '') : text, end_bytes }
  }

  for await (const chunk of chunks) {
    const lines: Line[] = []
    let start = 0
    for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, start)) {
      lines.push(end(chunk.subarray(start, at)))
      start = at + 1
    }
    const tail = chunk.subarray(start)
    // The rest of an overlong line is dropped.
    if (tail.length > 0 && parts_bytes <= LINE_MAX_BYTES) parts.push(tail)
    parts_bytes += tail.length
    yield lines
  }
  if (parts_bytes > 0) yield [end(Buffer.alloc(0))]
}
