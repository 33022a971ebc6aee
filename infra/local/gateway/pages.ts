import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join, relative, sep } from 'node:path'
import { matchesNone } from '#shared/entity-tag.ts'
import { WORKSPACE_HEADERS, workspaceCacheControl } from '../../workspace-headers.ts'

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.md': 'text/plain; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
}
/** The build writes these beside the files that compress well. */
const COMPRESSED: Record<string, Encoding> = { '.br': 'br', '.gz': 'gzip' }

const ETAG_CHARACTERS = 22

type Encoding = 'br' | 'gzip' | 'identity'

interface Page {
  path: string
  type: string
  hash: string
  bodies: Partial<Record<Encoding, Buffer>> & { identity: Buffer }
}

export interface Pages {
  /**
   * Answers a GET or HEAD of `path` with the file of that name, or with index.html when it is the address of a screen.
   * @returns false, and answers nothing, when it is neither.
   */
  answer(incoming: IncomingMessage, response: ServerResponse, path: string, requestId: string): boolean
}

/**
 * Reads every file of a built workspace into memory. A path is looked up among these and
 * never reaches the file system, so no spelling of it leads out of the folder.
 * @throws when `directory` has no index.html.
 */
export async function loadPages(directory: string): Promise<Pages> {
  const files = new Map<string, Buffer>()
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    files.set(`/${relative(directory, file).split(sep).join('/')}`, await readFile(file))
  }
  const pages = new Map<string, Page>()
  for (const [path, content] of files)
    if (!(extname(path) in COMPRESSED)) pages.set(path, pageOf(path, content, files))
  const index = pages.get('/index.html')
  if (!index) throw new Error(`${directory} has no index.html`)
  return {
    answer(incoming, response, path, requestId) {
      const page = pages.get(path) ?? (isScreen(path) ? index : undefined)
      if (page) send(page, incoming, response, requestId)
      return page !== undefined
    },
  }
}

/** A name with a dot is a file; the other paths are those that the services answer when called directly. */
const isScreen = (path: string): boolean =>
  !path.slice(path.lastIndexOf('/')).includes('.') && !['/healthz', '/readyz', '/metrics'].includes(path)

function pageOf(path: string, identity: Buffer, files: ReadonlyMap<string, Buffer>): Page {
  const bodies: Page['bodies'] = { identity }
  for (const [extension, encoding] of Object.entries(COMPRESSED)) {
    const compressed = files.get(path + extension)
    if (compressed) bodies[encoding] = compressed
  }
  return {
    path,
    type: TYPES[extname(path).toLowerCase()] ?? 'application/octet-stream',
    hash: createHash('sha256').update(identity).digest('base64url').slice(0, ETAG_CHARACTERS),
    bodies,
  }
}

function send(page: Page, incoming: IncomingMessage, response: ServerResponse, requestId: string): void {
  const encoding = acceptedEncoding(incoming.headers['accept-encoding'], page.bodies)
  const body = page.bodies[encoding] ?? page.bodies.identity
  const etag = `"${page.hash}-${encoding}"`
  const headers: Record<string, string | number> = {
    ...WORKSPACE_HEADERS,
    'Cache-Control': workspaceCacheControl(page.path),
    ETag: etag,
    Vary: 'Accept-Encoding',
    'X-Request-Id': requestId,
  }
  if (matchesNone(incoming.headers['if-none-match'], etag)) {
    response.writeHead(304, headers).end()
    return
  }
  headers['Content-Type'] = page.type
  headers['Content-Length'] = body.length
  if (encoding !== 'identity') headers['Content-Encoding'] = encoding
  response.writeHead(200, headers).end(incoming.method === 'HEAD' ? undefined : body)
}

/** The best encoding that both sides support. A weight of 0 means no (RFC 9110 §12.5.3); other weights are ignored. */
function acceptedEncoding(header: string | undefined, bodies: Page['bodies']): Encoding {
  const accepted = new Set<string>()
  for (const part of (header ?? '').toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim())
    if (!parameters.some((text) => /^q=0(\.0*)?$/.test(text))) accepted.add(name)
  }
  const encodings: Encoding[] = ['br', 'gzip']
  return encodings.find((name) => accepted.has(name) && bodies[name]) ?? 'identity'
}
