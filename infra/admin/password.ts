import { passwordFault } from '#shared/accounts/guessable-passwords.ts'
import { PASSWORD_MAX_BYTES } from '#shared/accounts/passwords.ts'
import type { Surroundings } from './commands.ts'
import { OperatorError } from './operator.ts'

const CTRL_C = '\x03'
const CTRL_D = '\x04'
const CTRL_U = '\x15'
const BACKSPACE = new Set(['\x7f', '\b'])
const ENTER = new Set(['\r', '\n'])

type Terminal = Pick<Surroundings, 'stdin' | 'stderr'>

/**
 * Reads a new password from the terminal, twice and without showing it, or from a pipe. It is never an argument, because
 * a command line is visible to everyone on the machine and kept by the shell.
 * @throws OperatorError if it is too short, too long or too common, differs the second time, or was cancelled.
 */
export async function askNewPassword(email: string, terminal: Terminal): Promise<string> {
  const { stdin } = terminal
  if (!stdin.isTTY) return checked((await readAll(stdin)).replace(/\r?\n$/, ''))
  const password = checked(await askHidden(`New password for ${email}: `, terminal))
  if ((await askHidden('Again: ', terminal)) !== password)
    throw new OperatorError('The two passwords differ. Nothing was changed.')
  return password
}

function checked(password: string): string {
  if (Buffer.byteLength(password) > PASSWORD_MAX_BYTES)
    throw new OperatorError(`A password can have at most ${PASSWORD_MAX_BYTES} bytes. Nothing was changed.`)
  const fault = passwordFault(password, [])
  if (fault) throw new OperatorError(`The password ${fault}. Nothing was changed.`)
  return password
}

async function readAll(input: NodeJS.ReadStream): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of input) {
    bytes += chunk.length
    if (bytes > 2 * PASSWORD_MAX_BYTES) break
    chunks.push(Buffer.from(chunk))
  }
  return Buffer.concat(chunks).toString()
}

/** Reads a line in raw mode. The terminal shows nothing, so line editing is done here. */
function askHidden(question: string, { stdin: terminal, stderr }: Terminal): Promise<string> {
  return new Promise((resolve, reject) => {
    let typed: string[] = []
    const finish = (settle: () => void) => {
      terminal.off('data', onData)
      terminal.setRawMode(false)
      terminal.pause()
      stderr.write('\n')
      settle()
    }
    const onData = (text: string) => {
      for (const character of text) {
        if (ENTER.has(character)) return finish(() => resolve(typed.join('')))
        if (character === CTRL_C || character === CTRL_D)
          return finish(() => reject(new OperatorError('Cancelled. Nothing was changed.')))
        if (character === CTRL_U) typed = []
        else if (BACKSPACE.has(character)) typed.pop()
        else typed.push(character)
      }
    }
    stderr.write(question)
    terminal.setEncoding('utf8')
    terminal.setRawMode(true)
    terminal.on('data', onData)
    terminal.resume()
  })
}
