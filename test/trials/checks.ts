export type Check = [what: string, holds: boolean]

/** Prints each, and has this process end with code 1 if one does not hold. */
export function reportChecks(name: string, checks: Check[]): void {
  for (const [what, holds] of checks) {
    process.stdout.write(`${holds ? 'ok' : 'FAILED'}: ${name}: ${what}\n`)
    if (!holds) process.exitCode = 1
  }
}
