import { spawn } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildWorkspace } from '../infra/local/workspace-build.ts'
import { linesTo } from '../infra/progress.ts'
import { serviceEnvironment } from '../infra/service-environment.ts'
import { mochaGlobalSetup, mochaGlobalTeardown } from './support/servers.ts'
import { selectFiles, testParts } from './support/test-parts.ts'
import { createTestRun } from './support/test-run.ts'

/*
 * The tests, in three parts at once, on one Postgres. Those of the screens are two, each with a stack and a
 * browser of its own. All other files start what they need: they are one part, of which several run at once.
 *
 *   PATH …        only these files, and the files below these folders
 *   --all         also the files named `*.all.test.ts`: whole-stack starts, terminals, loading times, the
 *                 largest company, code samples in other languages, and what other programs say of our files
 *   --fast        neither the screens, nor the slowest of the others, nor what few changes touch
 *
 * With TEST_TOTALS set, the numbers of passed and failed tests go to that file. An interrupted run ends every
 * process and removes every folder that its tests created.
 */
const ROOT = join(import.meta.dirname, '..')
const MOCHA = join(createRequire(import.meta.url).resolve('mocha/package.json'), '../bin/mocha.js')
const { values: options, positionals: paths } = parseArgs({
  options: { all: { type: 'boolean', default: false }, fast: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const tier = options.all ? 'all' : options.fast ? 'fast' : 'usual'
/** Many files of the first part wait, for real time or processes. The screens and `--all` compute. */
const FILES_AT_ONCE = { fast: 8, usual: 6, all: 5 }[tier]
/** A part that hangs. Each takes up to 10 minutes by itself, and 20 beside another run on two cores. */
const DEADLINE_MS = 60 * 60_000

interface Result {
  passed: number
  failed: number
  /** Failures with their causes, as mocha writes them at the end. */
  report: string
}

const testFiles = globSync('test/**/*.test.ts', { cwd: ROOT }).sort()
const { stores, screens } = testParts(selectFiles(testFiles, paths, tier))
const allParts: [name: string, args: string[], files: string[]][] = [
  ['stores', ['--parallel', '--jobs', String(FILES_AT_ONCE)], stores],
  ...screens.map((files, i): (typeof allParts)[number] => [`screens ${i + 1}`, [], files]),
]
const parts = allParts.filter(([, , files]) => files.length > 0)

const testRun = await createTestRun()
// What this process starts is part of the run too.
Object.assign(process.env, testRun.env)

/** Runs mocha as a process. One that ends without totals, or badly without a failed test, is a failure. */
function run([name, args, files]: (typeof parts)[number]): Promise<Result> {
  const totals = testRun.at(name)
  const reporter = ['--reporter', 'test/mocha-reporter.ts', '--reporter-option', `totals=${totals}`]
  const color = process.stdout.isTTY ? ['--color'] : []
  // What ends is reported at once, on standard error; the failures are kept for the end.
  const child = spawn(process.execPath, [MOCHA, ...color, ...reporter, ...args, ...files], {
    cwd: ROOT,
    env: {
      ...process.env,
      ...serviceEnvironment(),
      // With NODE_USE_ENV_PROXY, Node would ask the shell's proxy for what the tests start.
      no_proxy: `127.0.0.1,localhost,${process.env.no_proxy ?? process.env.NO_PROXY ?? ''}`,
      ...(options.all && { TEST_ALL: '1' }),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: DEADLINE_MS,
    // A Ctrl-C reaches this process alone, which then ends everything.
    detached: true,
  })
  let report = ''
  child.stdout.on('data', (chunk) => {
    report += chunk
  })
  return new Promise((resolve) =>
    child.on('close', (code, signal) => {
      const [passed = 0, failed = 0] = readTotals(totals)
      if (code === 0 || (failed > 0 && code !== null)) return resolve({ passed, failed, report })
      resolve({ passed, failed: failed + 1, report: `${report}\n  ${name}: ended with ${code ?? signal}\n` })
    }),
  )
}

function readTotals(file: string): number[] {
  try {
    return readFileSync(file, 'utf8').split(' ').map(Number)
  } catch {
    return []
  }
}

const serversReady = mochaGlobalSetup()
let interrupted: Promise<unknown> | undefined
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => {
    // npm passes on what the terminal has sent already.
    if (interrupted) return
    process.stderr.write('Stopping\n')
    interrupted = Promise.allSettled([testRun.interrupt(), serversReady.finally(mochaGlobalTeardown)])
    interrupted.then(() => process.exit(128 + constants.signals[signal]))
  })

const started = performance.now()
const results: Result[] = []
const fail = (reason: string) => results.push({ passed: 0, failed: 1, report: `  ${reason}\n` })
try {
  await serversReady
  // Otherwise each part would build them on a fresh clone.
  if (parts.some(([name]) => name !== 'stores')) await buildWorkspace(ROOT, linesTo(process.stderr))
  await interrupted
  results.push(...(await Promise.all(parts.map(run))))
} catch (error) {
  fail(String(error))
}
await interrupted
await mochaGlobalTeardown().catch((error) => fail(String(error)))
const leftovers = await testRun.end()
if (leftovers.length > 0) fail(`left running: ${leftovers.join(', ')}`)
const sum = (count: 'passed' | 'failed') => results.reduce((total, result) => total + result[count], 0)
for (const { failed, report } of results) if (failed > 0) process.stdout.write(report)
const took_s = Math.round((performance.now() - started) / 1_000)
console.log(`\n${sum('passed')} passed, ${sum('failed')} failed (${took_s} s)`)
if (process.env.TEST_TOTALS) writeFileSync(process.env.TEST_TOTALS, `${sum('passed')} ${sum('failed')}\n`)
// A run of nothing has proven nothing.
process.exitCode = sum('failed') > 0 || sum('passed') === 0 ? 1 : 0
