import { join } from 'node:path'

/**
 * What services are started with besides their settings: where Node keeps what it compiled, so that the next start
 * neither strips types nor compiles, which takes half the time and about 25 MiB less. The folder must never be one
 * that others may write to, since Node runs what it finds there. Node ignores a folder that it cannot write. Code
 * from a cache makes coverage less precise, so a run that collects it has none.
 */
export const serviceEnvironment = (): Record<string, string> =>
  process.env.NODE_V8_COVERAGE
    ? {}
    : { NODE_COMPILE_CACHE: join(import.meta.dirname, '../node_modules/.cache/node-compile') }
