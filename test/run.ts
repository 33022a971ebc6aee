import { spawn } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serviceEnvironment } from '../infra/service-environment.ts'

/*
 * All tests, three parts at a time. Those that need at most Postgres and Redis are one part, of which several files run
 * at once; those of the local stack are another; those of the screens are two, each with a browser of its own.
 * `--no-browser` leaves out the last. With TEST_TOTALS set, the numbers of passed and failed tests go to that file.
 */
const ROOT = join(import.meta.dirname, '..')
const MOCHA = join(createRequire(import.meta.url).resolve('mocha/package.json'), '../bin/mocha.js')
const WITH_SCREENS = !process.argv.includes('--no-browser')
const FILES_AT_ONCE = WITH_SCREENS ? 2 : 3
const SCREEN_PARTS = 2
const DEADLINE_MS = 20 * 60_000

/** They wait for the protocol's real times, or for processes: started first, they end among the others. */
const FIRST = ['faults', 'revocation', 'process', 'auth', 'api']

interface Result {
  passed: number
  failed: number
  /** Failures with their causes, as mocha writes them at the end. */
  report: string
}

const all = globSync('test/**/*.test.ts', { cwd: ROOT }).sort()
const below = (folder: string) => all.filter((file) => file.startsWith(`test/${folder}/`))
const local = below('local')
const browser = below('browser')
const first = FIRST.flatMap(below)
const others = all.filter((file) => ![...local, ...browser, ...first].includes(file))

const parts: Record<string, string[]> = {
  stores: ['--parallel', '--jobs', String(FILES_AT_ONCE), ...first, ...others],
  'local stack': local,
}
if (WITH_SCREENS)
  for (let part = 0; part < SCREEN_PARTS; part++)
    parts[`screens ${part + 1}`] = browser.filter((_, i) => i % SCREEN_PARTS === part)

const folder = mkdtempSync(join(tmpdir(), 'integration-access-totals-'))

/** Runs mocha as a process of its own. One that ends without totals, or badly without a failed test, is a failure. */
function run(name: string, args: string[]): Promise<Result> {
  const totals = join(folder, name)
  const reporter = ['--reporter', 'test/support/mocha-reporter.ts', '--reporter-option', `totals=${totals}`]
  const color = process.stdout.isTTY ? ['--color'] : []
  // What ends is reported at once, on standard error; the failures are kept for the end.
  const child = spawn(process.execPath, [MOCHA, ...color, ...reporter, ...args], {
    cwd: ROOT,
    env: { ...process.env, ...serviceEnvironment() },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: DEADLINE_MS,
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

const started = performance.now()
/** Each spends much of its time waiting, so that three keep two cores busy. */
const PARTS_AT_ONCE = 3
const waiting = Object.entries(parts)

async function runWaiting(): Promise<Result[]> {
  const results: Result[] = []
  for (let next = waiting.shift(); next; next = waiting.shift()) results.push(await run(...next))
  return results
}

const results = (await Promise.all(Array.from({ length: PARTS_AT_ONCE }, runWaiting))).flat()
rmSync(folder, { recursive: true })
const sum = (count: 'passed' | 'failed') => results.reduce((total, result) => total + result[count], 0)
for (const { failed, report } of results) if (failed > 0) process.stdout.write(report)
const took_s = Math.round((performance.now() - started) / 1_000)
console.log(`\n${sum('passed')} passed, ${sum('failed')} failed (${took_s} s)`)
if (process.env.TEST_TOTALS) writeFileSync(process.env.TEST_TOTALS, `${sum('passed')} ${sum('failed')}\n`)
process.exitCode = sum('failed') > 0 ? 1 : 0
