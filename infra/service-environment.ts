import { join } from 'node:path'

/**
 * Size in MiB of each half of V8's young generation. Compared with Node's 16, this uses 120 MiB less under
 * load at the same speed. With 4, requests are a sixth slower and the p99 is three times as high.
 */
const SEMI_SPACE_MIB = 8

/**
 * The environment of services besides their settings. Node caches compiled code in a folder, so that the next
 * start neither strips types nor compiles. That halves the start time and saves about 25 MiB. No one else may
 * have write access to the folder, since Node runs the code in it. Node ignores a folder that it cannot write
 * to. Cached code makes coverage less precise, so a run that collects coverage uses no cache. With
 * `--expose-gc` a service collects what loading left behind, 17 MiB.
 */
export const serviceEnvironment = (
  { NODE_OPTIONS = '', NODE_V8_COVERAGE }: NodeJS.ProcessEnv = process.env,
): Record<string, string> => ({
  NODE_OPTIONS: `--max-semi-space-size=${SEMI_SPACE_MIB} --expose-gc ${NODE_OPTIONS}`.trim(),
  ...(!NODE_V8_COVERAGE && {
    NODE_COMPILE_CACHE: join(import.meta.dirname, '../node_modules/.cache/node-compile'),
  }),
})
