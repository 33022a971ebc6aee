export const EXIT_INTERRUPTED = 130

/**
 * Calls `act` at Ctrl-C or SIGTERM, which then do not end the process, until it is disposed of. npm passes on
 * a Ctrl-C that the terminal has sent to the process already, so `act` can be called twice.
 */
export function onInterruption(act: () => void): Disposable {
  const names = ['SIGINT', 'SIGTERM'] as const
  for (const name of names) process.on(name, act)
  return {
    [Symbol.dispose]() {
      for (const name of names) process.off(name, act)
    },
  }
}

/** Makes Ctrl-C and SIGTERM print what the process leaves behind, and end it. */
export const explainInterruption = (explanation: string): Disposable =>
  onInterruption(() => {
    process.stderr.write(`Interrupted. ${explanation}\n`)
    process.exit(EXIT_INTERRUPTED)
  })
