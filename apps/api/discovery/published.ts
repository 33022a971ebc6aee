import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { entityTag, failsIfMatch, matchesNone } from '#shared/http/entity-tag.ts'
import { preconditionFailed } from '../http/route.ts'
import type { ApiContext, ApiMiddleware } from '../http/state.ts'

const MINUTES_5 = 'public, max-age=300'
/** Filled in for one person: no cache that others share may keep it. */
const FOR_ONE = 'private, max-age=300'
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
  /** Returns the document for a request with this query; undefined if it is the same. */
  variant?: (content: string, query: URLSearchParams) => string | undefined
}

const COMPRESS = {
  br: promisify(brotliCompress),
  gzip: promisify(gzip),
  identity: async (content: Buffer) => content,
}
type Encoding = keyof typeof COMPRESS

/** One text of a document, compressed when it is first asked for, off the event loop. */
interface Representation {
  type: string
  content: Buffer
  tag: string
  headers: Record<string, string>
  encodings: readonly Encoding[]
  compressed: Partial<Record<Encoding, Promise<Buffer>>>
}

/** Each encoding has a tag of its own. Fonts are compressed as they are. A variant is not kept. */
export function published(file: PublishedFile): ApiMiddleware {
  const { type, headers = {}, immutable = false, variant } = file
  const markdown = file.markdown && published(file.markdown)
  const encodings: Encoding[] = type.startsWith('font/') ? ['identity'] : ['br', 'gzip', 'identity']
  const represent = (text: string | Buffer, cacheControl: string, encodings: readonly Encoding[]) => ({
    type,
    content: Buffer.from(text),
    tag: entityTag(text),
    headers: { 'Cache-Control': cacheControl, ...READ_ANYWHERE, ...headers },
    encodings,
    compressed: {},
  })
  const make = async () => represent(await file.content(), immutable ? PERMANENTLY : MINUTES_5, encodings)
  let common: Promise<Representation> | undefined
  return async (ctx, next) => {
    if (markdown) {
      ctx.vary('Accept')
      if (ctx.accepts(type, 'text/markdown') === 'text/markdown') return markdown(ctx, next)
    }
    common ??= make()
    const everyones = await common
    const own = variant?.(everyones.content.toString(), new URLSearchParams(ctx.querystring))
    return answer(ctx, own === undefined ? everyones : represent(own, FOR_ONE, ['gzip', 'identity']))
  }
}

async function answer(ctx: ApiContext, representation: Representation): Promise<void> {
  const { type, content, tag, headers, encodings, compressed } = representation
  const encoding = (ctx.acceptsEncodings(...encodings) || 'identity') as Encoding
  const etag = encoding === 'identity' ? tag : tag.replace(/"$/, `-${encoding}"`)
  if (failsIfMatch(ctx.headers['if-match'], etag)) throw preconditionFailed()
  ctx.set({ ...headers, ETag: etag })
  if (encodings.length > 1) ctx.vary('Accept-Encoding')
  if (matchesNone(ctx.headers['if-none-match'], etag)) {
    ctx.status = 304
    return
  }
  compressed[encoding] ??= COMPRESS[encoding](content)
  const body = await compressed[encoding]
  if (encoding !== 'identity') ctx.set('Content-Encoding', encoding)
  ctx.type = type
  ctx.body = body
}
