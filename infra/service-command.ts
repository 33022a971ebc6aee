import { join } from 'node:path'

/** A token request leaves little behind that outlives it, so a small young generation costs no time. */
const NODE_OPTIONS = ['--max-semi-space-size=4']

/** The command that runs a service: the program and its arguments. */
export const serviceCommand = (file: string): [string, ...string[]] => [
  process.execPath,
  ...NODE_OPTIONS,
  file,
]

/**
 * Where Node keeps what it compiled, so that the next start neither strips types nor compiles: half the time and
 * about 25 MiB. Never a folder that others may write to, since Node trusts what it finds there. Node ignores a
 * folder that it cannot write. Code from a cache makes coverage less precise, so a run that collects it has none.
 */
export const serviceEnvironment = (): Record<string, string> =>
  process.env.NODE_V8_COVERAGE
    ? {}
    : { NODE_COMPILE_CACHE: join(import.meta.dirname, '../node_modules/.cache/node-compile') }
