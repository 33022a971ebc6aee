import { randomBytes } from 'node:crypto'
import { hashPassword, verifyPassword } from '#shared/passwords.ts'
import { unavailable } from '../http/problem.ts'

/** Each takes one of libuv's four threads and 19 MiB for some 30 ms. */
const RUNNING_MAX = 2
const WAITING_MAX = 64

/**
 * Compares a password with a user's hash, or does the same work with no user's when there is none.
 * @returns whether it is the user's password.
 * @throws Problem unavailable when too many wait already, so that a flood can fill neither memory nor the threads.
 */
export type CheckPassword = (password: string, hash: string | undefined) => Promise<boolean>

export function createPasswordCheck(): CheckPassword {
  const nobodys = hashPassword(randomBytes(32).toString('hex'))
  const waiting: (() => void)[] = []
  let running = 0

  async function turn(): Promise<void> {
    if (running < RUNNING_MAX) {
      running += 1
      return
    }
    if (waiting.length >= WAITING_MAX)
      throw unavailable('Too many people are signing in. Try again in a moment.')
    await new Promise<void>((resolve) => waiting.push(resolve))
  }

  /** Hands the turn on, or gives it back. */
  function done(): void {
    const next = waiting.shift()
    if (next) next()
    else running -= 1
  }

  return async (password, hash) => {
    await turn()
    try {
      const matches = await verifyPassword(password, hash ?? (await nobodys))
      return matches && hash !== undefined
    } finally {
      done()
    }
  }
}
