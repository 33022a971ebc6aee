/** Returns the promise's value, or undefined after `limit_ms`. Rejects if the promise rejects in time. */
export function within<T>(limit_ms: number, promise: PromiseLike<T>): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>()
  const timer = setTimeout(late.resolve, limit_ms)
  return Promise.race([promise, late.promise]).finally(() => clearTimeout(timer))
}
