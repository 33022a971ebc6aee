import type { IncomingMessage, ServerResponse } from 'node:http'
import { relative } from 'node:path'
import serveStatic from 'serve-static'
import { WORKSPACE_HEADERS, workspaceCacheControl } from '../../workspace-headers.ts'

/** Answers a GET or HEAD with the file of its path. Calls `next` if there is none. */
export type Pages = (incoming: IncomingMessage, response: ServerResponse, next: () => void) => void

/** Serves the files of a built workspace. */
export const builtPages = (directory: string): Pages =>
  serveStatic(directory, {
    index: false,
    redirect: false,
    acceptRanges: false,
    cacheControl: false,
    setHeaders(response, file) {
      response.setHeaders(new Headers(WORKSPACE_HEADERS))
      response.setHeader('Cache-Control', workspaceCacheControl(`/${relative(directory, file)}`))
    },
  })
