import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import Mocha from 'mocha'
import { redact } from './support/redacted-failures.ts'

const LEFT_OPEN_MS = 10_000

/**
 * A line on standard error for each file when it has run, with the seconds that its tests and hooks took, and
 * the failures at the end. The numbers of passed and failed tests go to the file that the option `totals`
 * names.
 */
export default class Reporter extends Mocha.reporters.Base {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options)
    let file: string | undefined
    let passed = 0
    let took_ms = 0
    let failed: string[] = []

    const flush = () => {
      if (file === undefined) return
      const marks = [passed && `${passed} passed`, failed.length && `${failed.length} FAILED`].filter(Boolean)
      process.stderr.write(`${relative('', file)}: ${marks.join(', ')} (${Math.round(took_ms / 1_000)} s)\n`)
      for (const title of failed) process.stderr.write(`  ${redact(title)}\n`)
      passed = took_ms = 0
      failed = []
    }
    const time = (step: Mocha.Runnable) => {
      if (step.file !== file) flush()
      file = step.file
      took_ms += step.duration ?? 0
    }
    const count = (test: Mocha.Runnable, how: 'passed' | 'failed', error?: Error) => {
      time(test)
      if (how === 'passed') passed++
      // mocha prints an error without its cause, which is all that "fetch failed" has to say.
      else failed.push(test.fullTitle() + (error?.cause ? ` (${error.cause})` : ''))
    }
    runner.on('hook end', (hook) => hook.file && time(hook))
    runner.on('pass', (test) => count(test, 'passed'))
    runner.on('fail', (test, error) => count(test, 'failed', error))
    // A test that was skipped has proven nothing.
    runner.on('pending', (test) => count(test, 'failed'))
    runner.once('end', () => {
      flush()
      this.epilogue()
      const { passes, failures, pending } = this.stats
      const { totals } = options.reporterOptions ?? {}
      if (totals) writeFileSync(totals, `${passes} ${failures + pending}\n`)
      // What a failed test left open would keep the process from ending.
      if (failures > 0) setTimeout(() => process.exit(1), LEFT_OPEN_MS).unref()
    })
  }
}
