import type { Readable } from 'node:stream'

/** Returns what tells all that a stream has brought since now. */
export function collectText(stream: Readable): () => string {
  let text = ''
  stream.on('data', (chunk) => {
    text += chunk
  })
  return () => text
}
