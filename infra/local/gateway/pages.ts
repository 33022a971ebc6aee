import { readdir, readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join, relative, sep } from 'node:path'
import Koa from 'koa'
import { entityTag } from '#shared/http/entity-tag.ts'
import { WORKSPACE_HEADERS, workspaceCacheControl } from '../../workspace-headers.ts'
import { SCREEN_PATHS } from './route.ts'

export interface Pages {
  /**
   * Answers a GET or HEAD of `path` with the file of that name, or with index.html if it is the address of a screen.
   * @returns false, without answering, if it is neither.
   */
  answer(incoming: IncomingMessage, response: ServerResponse, path: string, requestId: string): boolean
}

/**
 * Reads every file of a built workspace into memory. Paths are looked up there and never reach the file system, so no
 * path can escape the folder, and a build that replaces the files while they are served does no harm.
 * @throws if `directory` has no index.html.
 */
export async function loadPages(directory: string): Promise<Pages> {
  const files = new Map<string, Buffer>()
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    files.set(`/${relative(directory, file).split(sep).join('/')}`, await readFile(file))
  }
  if (!files.has('/index.html')) throw new Error(`${directory} has no index.html`)
  const nameOf = (path: string) =>
    files.has(path) ? path : SCREEN_PATHS.test(path) ? '/index.html' : undefined
  const app = new Koa()
  app.use((ctx) => send(ctx, nameOf(ctx.path) as string, files))
  const handle = app.callback()
  return {
    answer(incoming, response, path, requestId) {
      if (nameOf(path) === undefined) return false
      response.setHeader('X-Request-Id', requestId)
      void handle(incoming, response)
      return true
    },
  }
}

function send(ctx: Koa.Context, name: string, files: ReadonlyMap<string, Buffer>): void {
  const body = files.get(name) as Buffer
  ctx.set({ ...WORKSPACE_HEADERS, 'Cache-Control': workspaceCacheControl(name) })
  ctx.etag = entityTag(body)
  ctx.status = 200
  if (ctx.fresh) {
    ctx.status = 304
    return
  }
  ctx.type = extname(name)
  ctx.body = body
}
