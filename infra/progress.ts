/**
 * A program that is silent for three seconds seems to hang. A task can end just before its next beat, and
 * the next task begins with a silence of FIRST_BEAT_MS: the sum of both is below three seconds.
 */
const FIRST_BEAT_MS = 1_000
const BEAT_MS = 1_500

/** Shows the user a line of progress. */
export type ShowProgress = (line: string) => void

/** Shows `text` again and again, with the time so far, until `work` ends. Returns the result of the work. */
export async function heartbeat<T>(show: ShowProgress, text: () => string, work: Promise<T>): Promise<T> {
  const began_ms = performance.now()
  const seconds = () => Math.round((performance.now() - began_ms) / 1_000)
  const beat = () => {
    show(`${text()} (${seconds()} s)`)
    timer = setTimeout(beat, BEAT_MS)
  }
  let timer = setTimeout(beat, FIRST_BEAT_MS)
  try {
    return await work
  } finally {
    clearTimeout(timer)
  }
}

/** Shows `text` at once, and again as a heartbeat. */
export function announce<T>(show: ShowProgress, text: string, work: Promise<T>): Promise<T> {
  show(text)
  return heartbeat(show, () => text, work)
}

interface Output {
  write(text: string): unknown
  isTTY?: boolean
  columns?: number
}

export const linesTo =
  (stream: Output): ShowProgress =>
  (line) =>
    void stream.write(`${line}\n`)

const CLEAR_LINE = '\r\x1b[K'
/** Some terminals report 0 columns. */
const COLUMNS_DEFAULT = 80

/** A line that each `show` replaces. Where there is no terminal, `show` prints a line. */
export function createStatusLine(stream: Output) {
  const print = linesTo(stream)
  let isShown = false
  const clear = () => {
    if (isShown) stream.write(CLEAR_LINE)
    isShown = false
  }
  return {
    show(line: string): void {
      isShown = stream.isTTY === true
      // A line that wraps could not be replaced.
      if (isShown) stream.write(CLEAR_LINE + line.slice(0, (stream.columns || COLUMNS_DEFAULT) - 1))
      else print(line)
    },
    /** Prints a line that stays. */
    print(line: string): void {
      clear()
      print(line)
    },
    /** Removes the line. */
    clear,
  }
}
