import { Agent, request } from 'node:https'
import { json as readJson } from 'node:stream/consumers'

/** A caller gives up after this. */
const ANSWER_MS = 8_000

interface Sent {
  bearer?: string
  json?: object
  form?: URLSearchParams
}

/** Sends requests to this machine's port 443 over TLS, as if it were the host of that name. */
export function createCaller({ host, ca }: { host: string; ca: string }) {
  const agent = new Agent({ ca, servername: host, keepAlive: true })
  return {
    /** Rejects if there is no answer in time. */
    async send(method: string, path: string, { bearer, json, form }: Sent = {}) {
      const body = json ? JSON.stringify(json) : form?.toString()
      const headers = {
        Host: host,
        ...(bearer && { Authorization: `Bearer ${bearer}` }),
        ...(json && { 'Content-Type': 'application/json' }),
        ...(form && { 'Content-Type': 'application/x-www-form-urlencoded' }),
      }
      const signal = AbortSignal.timeout(ANSWER_MS)
      const sent = request({ host: '127.0.0.1', port: 443, method, path, headers, agent, signal })
      const response = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
        sent.on('response', resolve).on('error', reject).end(body)
      })
      return { status: response.statusCode, body: JSON.parse(JSON.stringify(await readJson(response))) }
    },
  }
}
