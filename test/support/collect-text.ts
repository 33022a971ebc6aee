import type { Readable } from 'node:stream'

/** Returns a function that returns all text that the stream has brought since this call. */
export function collectText(stream: Readable): () => string {
  let text = ''
  stream.on('data', (chunk) => {
    text += chunk
  })
  return () => text
}
