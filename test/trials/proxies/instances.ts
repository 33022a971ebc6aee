import { createServer } from 'node:http'
import { listen } from '#shared/process/http-server.ts'

/** As in the services: longer than a proxy keeps an idle connection. */
const KEEP_ALIVE_MS = 130_000

/** Starts stand-ins for two instances of each service, one at each host. */
export async function startInstances(hosts: string[]) {
  const state = {
    /** What reached them. */
    reached: [] as string[],
    /** Whether they take a request and hang up, so that they may have carried it out. */
    hangUp: false,
  }
  const servers = hosts.map(() =>
    createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
      if (request.url === '/readyz') return void response.end('{}')
      response.setHeader('X-Request-Id', `of-${request.headers['x-request-id']}`)
      state.reached.push(`${request.method} ${request.url}`)
      if (state.hangUp) request.resume().on('end', () => request.socket.destroy())
      else response.end('here')
    }),
  )
  const at = await Promise.all(
    servers.map(async (server, i) => {
      const host = hosts[i] as string
      return `${host}:${await listen(server, { host, port: 0 })}`
    }),
  )
  const stop = () => {
    for (const server of servers) server.close().closeAllConnections()
  }
  return { state, auth: at.slice(0, 2), api: at.slice(2), stop, [Symbol.dispose]: stop }
}
