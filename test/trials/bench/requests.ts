import { writeFile } from 'node:fs/promises'
import type { Server } from './servers.ts'

export interface HttpRequest {
  method: 'GET' | 'POST'
  /** With its query. */
  path: string
  headers: Record<string, string>
  body?: string
}

/** Sends one request, past the generator. */
export const send = (
  server: Pick<Server, 'url'>,
  { method, path, headers, body }: HttpRequest,
): Promise<Response> => fetch(server.url + path, { method, headers, body: body ?? null })

/** Writes requests where the generator reads them from; wrk.lua has the format. */
export async function writeRequests(file: string, requests: HttpRequest[]): Promise<void> {
  const lines = requests.map(({ method, path, headers, body = '' }) =>
    [method, path, body, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)].join('\t'),
  )
  await writeFile(file, `${lines.join('\n')}\n`)
}
