import { connect } from 'node:net'
import { endWithParent, firstExecutable, onPath, startChild } from '../../infra/local/child.ts'
import { StartError } from '../../infra/local/start-error.ts'
import { eventually } from '../support/eventually.ts'

/**
 * Runs an installed program, which ends with the block that is `using` it. Resolves once it listens on
 * `port`.
 * @param wrapped puts a command before it, such as one that makes it another user's.
 */
export async function startProgram(
  name: string,
  args: string[],
  port: number,
  wrapped = async (command: string[]) => command,
) {
  // Only root has these folders on the PATH.
  const program = (await onPath(name)) ?? (await firstExecutable(['/usr/sbin', '/usr/local/sbin'], [name]))
  if (!program) throw new StartError(`${name} is not installed: apt-get install ${name}`)
  const [command = '', ...rest] = await wrapped(await endWithParent('TERM', [program, ...args]))
  await using starting = new AsyncDisposableStack()
  const child = startChild(command, rest)
  starting.defer(() => child.stop())
  const hasStarted = async () => child.end() !== undefined || (await answers(port))
  await eventually(hasStarted, { otherwise: () => `${name} does not listen: ${child.output()}` })
  if (child.end() !== undefined) throw new StartError(`${name} ended: ${child.output()}`)
  const parts = starting.move()
  return { output: child.output, [Symbol.asyncDispose]: () => parts.disposeAsync() }
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true))
    socket.on('error', () => resolve(false)).on('connect', () => socket.destroy())
  })
