import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { entityTag, failsIfMatch, matchesNone } from '#shared/http/entity-tag.ts'
import { preconditionFailed } from '../http/route.ts'
import type { ApiContext, ApiMiddleware } from '../http/state.ts'

const MINUTES_5 = 'public, max-age=300'
/** For an address that names its content. */
const PERMANENTLY = 'public, max-age=31536000, immutable'

/** Pages of any origin may read the documents: they are public, and no credential is read. */
const READ_ANYWHERE = { 'Access-Control-Allow-Origin': '*' }

/** Header fields of a published document, as its route describes them. */
export const PUBLISHED_HEADERS = ['Cache-Control', 'ETag', 'Access-Control-Allow-Origin']

/** A document that stays the same while the process runs. */
export interface PublishedFile {
  type: string
  /** Called for the first request, and again only if it failed. */
  content: () => string | Buffer | Promise<string>
  headers?: Record<string, string>
  /** Whether its address changes when it does. */
  immutable?: boolean
  /** The same document for a request that prefers text/markdown. */
  markdown?: PublishedFile
}

const compressBrotli = promisify(brotliCompress)
const compressGzip = promisify(gzip)

type Encoding = 'br' | 'gzip' | 'identity'

interface Representation {
  tag: string
  /** Each body is compressed off the event loop, for the first request that accepts its encoding. */
  bodies: Record<Encoding, () => Promise<Buffer>>
}

/** Returns a function that calls `load` once. A failure is not kept: the next call loads again. */
function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined
  return () => {
    loading ??= load().catch((error) => {
      loading = undefined
      throw error
    })
    return loading
  }
}

/** Serves the document with an entity tag for each encoding. Fonts are already compressed. */
export function serveFile(file: PublishedFile): ApiMiddleware {
  const { type, immutable = false } = file
  const headers = {
    'Cache-Control': immutable ? PERMANENTLY : MINUTES_5,
    ...READ_ANYWHERE,
    ...file.headers,
  }
  const encodings: Encoding[] = type.startsWith('font/') ? ['identity'] : ['br', 'gzip', 'identity']
  const markdown = file.markdown && serveFile(file.markdown)
  const representation = once(async (): Promise<Representation> => {
    const content = Buffer.from(await file.content())
    return {
      tag: entityTag(content),
      bodies: {
        br: once(() => compressBrotli(content)),
        gzip: once(() => compressGzip(content)),
        identity: async () => content,
      },
    }
  })

  async function answer(ctx: ApiContext): Promise<void> {
    const { tag, bodies } = await representation()
    const encoding = (ctx.acceptsEncodings(...encodings) || 'identity') as Encoding
    const etag = encoding === 'identity' ? tag : tag.replace(/"$/, `-${encoding}"`)
    if (failsIfMatch(ctx.headers['if-match'], etag)) throw preconditionFailed()
    ctx.set({ ...headers, ETag: etag })
    if (encodings.length > 1) ctx.vary('Accept-Encoding')
    if (matchesNone(ctx.headers['if-none-match'], etag)) {
      ctx.status = 304
      return
    }
    const body = await bodies[encoding]()
    if (encoding !== 'identity') ctx.set('Content-Encoding', encoding)
    ctx.type = type
    ctx.body = body
  }

  return async (ctx, next) => {
    if (markdown) {
      ctx.vary('Accept')
      if (ctx.accepts(type, 'text/markdown') === 'text/markdown') return markdown(ctx, next)
    }
    return answer(ctx)
  }
}
