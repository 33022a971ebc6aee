import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Runs a program until it ends. Returns what it wrote. Rejects, with that too, if it ends with another code than 0. */
export const run = promisify(execFile)
