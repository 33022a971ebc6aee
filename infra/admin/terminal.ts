import { isUtf8 } from 'node:buffer'
import { createInterface, type ReadLineOptions } from 'node:readline'
import { Writable } from 'node:stream'
import { PASSWORD_MAX_BYTES } from '../../apps/api/accounts/passwords.ts'
import { passwordFault } from '../../apps/api/sessions/guessable-passwords.ts'
import type { CommandEnvironment } from './commands.ts'
import { OperatorError } from './operator.ts'

/* Asks the person at the terminal: for a new password, or to confirm. */

type Terminal = Pick<CommandEnvironment, 'stdin' | 'stderr'>

/**
 * Reads a new password from the terminal, twice and without showing it, or from a pipe. It is never an
 * argument, because a command line is visible to everyone on the machine and kept by the shell.
 * @throws OperatorError if it is too short, long or common, is not one line of UTF-8, differs the second
 * time, or was cancelled.
 */
export async function askNewPassword(email: string, terminal: Terminal): Promise<string> {
  const { stdin } = terminal
  if (!stdin.isTTY) return requireGoodPassword((await readText(stdin)).replace(/\r?\n$/, ''))
  const password = requireGoodPassword(await askHidden(`New password for ${email}: `, terminal))
  if ((await askHidden('Again: ', terminal)) !== password)
    throw new OperatorError('The two passwords differ. Nothing was changed.')
  return password
}

function requireGoodPassword(password: string): string {
  if (Buffer.byteLength(password) > PASSWORD_MAX_BYTES)
    throw new OperatorError(`A password can have at most ${PASSWORD_MAX_BYTES} bytes. Nothing was changed.`)
  if (/\p{Cc}/u.test(password))
    throw new OperatorError('A password is one line, without control characters. Nothing was changed.')
  const fault = passwordFault(password, [])
  if (fault) throw new OperatorError(`The password ${fault}. Nothing was changed.`)
  return password
}

/** Reads enough to see that a password is too long. @throws OperatorError if it is not UTF-8. */
async function readText(input: NodeJS.ReadStream): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of input) {
    bytes += chunk.length
    chunks.push(Buffer.from(chunk))
    if (bytes > 2 * PASSWORD_MAX_BYTES) break
  }
  const text = Buffer.concat(chunks)
  if (bytes <= 2 * PASSWORD_MAX_BYTES && !isUtf8(text))
    throw new OperatorError('The password is not UTF-8. Nothing was changed.')
  return text.toString()
}

/** Reads a line that the terminal does not show. */
async function askHidden(question: string, { stdin, stderr }: Terminal): Promise<string> {
  stderr.write(question)
  const nowhere = new Writable({ write: (_chunk, _encoding, callback) => callback() })
  const line = await readLine({ input: stdin, output: nowhere, terminal: true, historySize: 0 })
  stderr.write('\n')
  if (line === undefined) throw new OperatorError('Cancelled. Nothing was changed.')
  return line
}

/**
 * Shows what a command is about to do, and has a person type "yes" at the terminal.
 * @throws OperatorError if the answer is another, or there is no terminal to ask at.
 */
export async function confirm(effect: string, { stdin, stderr }: Terminal): Promise<void> {
  if (!stdin.isTTY)
    throw new OperatorError(`${effect}\nNothing was changed. Confirm it at a terminal, or add --yes.`)
  stderr.write(`${effect}\nType yes to go on: `)
  if ((await readLine({ input: stdin, terminal: false }))?.trim() !== 'yes')
    throw new OperatorError('Nothing was changed.')
}

/** Resolves with undefined if there is no line: at the end of the input, Ctrl-C or Ctrl-D. */
async function readLine(options: ReadLineOptions): Promise<string | undefined> {
  const lines = createInterface(options)
  const line = await new Promise<string | undefined>((resolve) => {
    lines.once('line', resolve).once('close', () => resolve(undefined))
  })
  lines.close()
  return line
}
