import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { entityTag, failsIfMatch, matchesNone } from '#shared/http/entity-tag.ts'
import { preconditionFailed } from '../http/route.ts'
import type { ApiContext, ApiMiddleware } from '../http/state.ts'

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

/** One text of a document, compressed when it is first asked for, off the event loop. */
interface Representation {
  type: string
  content: Buffer
  tag: string
  headers: Record<string, string>
  encodings: readonly Encoding[]
  compressed: Partial<Record<Encoding, Promise<Buffer>>>
}

/** Each encoding has a tag of its own. Fonts are compressed as they are. */
export function published(file: PublishedFile): ApiMiddleware {
  const { type, headers = {}, immutable = false } = file
  const markdown = file.markdown && published(file.markdown)
  const represent = async (): Promise<Representation> => {
    const content = await file.content()
    return {
      type,
      content: Buffer.from(content),
      tag: entityTag(content),
      headers: { 'Cache-Control': immutable ? PERMANENTLY : MINUTES_5, ...READ_ANYWHERE, ...headers },
      encodings: type.startsWith('font/') ? ['identity'] : ['br', 'gzip', 'identity'],
      compressed: {},
    }
  }
  let representation: Promise<Representation> | undefined
  return async (ctx, next) => {
    if (markdown) {
      ctx.vary('Accept')
      if (ctx.accepts(type, 'text/markdown') === 'text/markdown') return markdown(ctx, next)
    }
    representation ??= represent()
    return answer(ctx, await representation)
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
