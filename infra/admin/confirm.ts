import { createInterface, type ReadLineOptions } from 'node:readline'
import type { Surroundings } from './commands.ts'
import { OperatorError } from './operator.ts'

/**
 * Shows what a command is about to do, and has a person type "yes" at the terminal.
 * @throws OperatorError if the answer is another, or there is no terminal to ask at.
 */
export async function confirm(
  effect: string,
  { stdin, stderr }: Pick<Surroundings, 'stdin' | 'stderr'>,
): Promise<void> {
  if (!stdin.isTTY)
    throw new OperatorError(`${effect}\nNothing was changed. Confirm it at a terminal, or add --yes.`)
  stderr.write(`${effect}\nType yes to go on: `)
  if ((await readLine({ input: stdin, terminal: false }))?.trim() !== 'yes')
    throw new OperatorError('Nothing was changed.')
}

/** Resolves with undefined if there is no line: at the end of the input, Ctrl-C or Ctrl-D. */
export async function readLine(options: ReadLineOptions): Promise<string | undefined> {
  const lines = createInterface(options)
  const line = await new Promise<string | undefined>((resolve) => {
    lines.once('line', resolve).once('close', () => resolve(undefined))
  })
  lines.close()
  return line
}
