import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { entityTag, failsIfMatch, matchesNone } from '#shared/http/entity-tag.ts'
import { preconditionFailed } from '../http/route.ts'
import type { ApiMiddleware } from '../http/state.ts'

const MINUTES_5 = 'public, max-age=300'
/** For an address that names its content. */
const PERMANENTLY = 'public, max-age=31536000, immutable'

/** The documents are the same for everyone, and no credential is looked at: a page of any origin may read them. */
const READ_ANYWHERE = { 'Access-Control-Allow-Origin': '*' }

/** A document that stays the same while the process runs. */
export interface PublishedFile {
  type: string
  /** Called at most once, when the document is first asked for. */
  content: () => string | Buffer | Promise<string>
  headers?: Record<string, string>
  /** Whether its address changes when it does. */
  immutable?: boolean
  /** The same document for a request that prefers text/markdown. */
  markdown?: PublishedFile
}

const COMPRESS = {
  br: promisify(brotliCompress),
  gzip: promisify(gzip),
  identity: async (content: Buffer) => content,
}
type Encoding = keyof typeof COMPRESS

/** Compresses once, off the event loop; each encoding has a tag of its own. Fonts are compressed as they are. */
export function published(file: PublishedFile): ApiMiddleware {
  const { type, content, headers = {}, immutable = false } = file
  const markdown = file.markdown && published(file.markdown)
  const encodings: Encoding[] = type.startsWith('font/') ? ['identity'] : ['br', 'gzip', 'identity']
  const bodies: Partial<Record<Encoding, Promise<Buffer>>> = {}
  let made: Promise<{ identity: Buffer; tag: string }> | undefined
  async function make() {
    const identity = Buffer.from(await content())
    return { identity, tag: entityTag(identity).slice(1, -1) }
  }
  return async (ctx, next) => {
    if (markdown) {
      ctx.vary('Accept')
      if (ctx.accepts(type, 'text/markdown') === 'text/markdown') return markdown(ctx, next)
    }
    made ??= make()
    const { identity, tag } = await made
    const encoding = (ctx.acceptsEncodings(...encodings) || 'identity') as Encoding
    const etag = encoding === 'identity' ? `"${tag}"` : `"${tag}-${encoding}"`
    if (failsIfMatch(ctx.headers['if-match'], etag)) throw preconditionFailed()
    ctx.set({
      'Cache-Control': immutable ? PERMANENTLY : MINUTES_5,
      ETag: etag,
      ...READ_ANYWHERE,
      ...headers,
    })
    if (encodings.length > 1) ctx.vary('Accept-Encoding')
    if (matchesNone(ctx.headers['if-none-match'], etag)) {
      ctx.status = 304
      return
    }
    bodies[encoding] ??= COMPRESS[encoding](identity)
    const body = await bodies[encoding]
    if (encoding !== 'identity') ctx.set('Content-Encoding', encoding)
    ctx.type = type
    ctx.body = body
  }
}
