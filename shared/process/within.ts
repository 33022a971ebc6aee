/**
 * @returns the promise's value, or undefined when it has none after `limit_ms`; whatever comes later is dropped.
 * Rejects if the promise rejects in time.
 */
export function within<T>(limit_ms: number, promise: PromiseLike<T>): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>()
  const timer = setTimeout(late.resolve, limit_ms)
  return Promise.race([promise, late.promise]).finally(() => clearTimeout(timer))
}
