/**
 * Fetches a text of bounded size without following a redirect. Consecutive requests share one connection.
 * `limit_bytes` counts what is uncompressed, and `signal` ends the request early.
 * @throws Error for any status but 200, above `limit_bytes`, and after `timeout_ms`.
 */
export async function fetchDocument(
  url: string,
  options: { headers: Record<string, string>; limit_bytes: number; timeout_ms: number; signal?: AbortSignal },
): Promise<{ text: string; headers: { get(name: string): string | null } }> {
  const { headers, limit_bytes, timeout_ms, signal } = options
  const deadline = AbortSignal.timeout(timeout_ms)
  const response = await fetch(url, {
    headers,
    redirect: 'manual',
    signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
  })
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new Error(`answered ${response.status}`)
  }
  const chunks: Uint8Array[] = []
  let size_bytes = 0
  for await (const chunk of response.body ?? []) {
    size_bytes += chunk.length
    // Leaving the loop closes the connection.
    if (size_bytes > limit_bytes) throw new Error(`is larger than ${limit_bytes} bytes`)
    chunks.push(chunk)
  }
  return { text: Buffer.concat(chunks).toString(), headers: response.headers }
}

/** Why a fetch failed, in words for the log: fetch itself hides the reason in `cause`. */
export function fetchFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  return cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : error.message
}
