/** The reason why the local stack cannot run, in one sentence for the person who started it. */
export class Failure extends Error {}

/** Returns the error's code, such as `EADDRINUSE`, or undefined. */
export function errorCode(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined
  return typeof code === 'string' ? code : undefined
}
