/**
 * Lets a command go on when its output goes nowhere: the reader of a pipe may stop reading, as `head` does.
 * If output is lost for another reason, such as a full disk, the process says so at its end, and its code
 * is 1.
 */
export function outliveOutput(): void {
  let failure: Error | undefined
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') failure ??= error
    })
  process.on('exit', () => {
    if (failure === undefined) return
    process.stderr.write(`The output was lost, but not what the command did: ${failure.message}.\n`)
    process.exitCode ||= 1
  })
}
