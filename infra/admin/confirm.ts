import { createInterface } from 'node:readline'
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
  for await (const line of createInterface({ input: stdin, terminal: false })) {
    if (line.trim() === 'yes') return
    break
  }
  throw new OperatorError('Nothing was changed.')
}
