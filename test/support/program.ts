import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Runs a program and returns its output. Rejects, with the output too, if its exit code is not 0. */
export const run = promisify(execFile)
