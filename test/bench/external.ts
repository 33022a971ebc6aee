import { tokenRequest } from './fixtures.ts'
import { measureInterleaved } from './measure.ts'
import type { Bench, Row } from './row.ts'
import { besideFloorFindings } from './token.ts'

export interface External {
  tokenUrl: URL
  clientId: string
  clientSecret: string
  scope: string
}

/** Any token endpoint that takes client credentials in the form, beside the floor that ours is beside. */
export function externalRow({ tokenUrl, scope, ...client }: External): Row {
  const path = tokenUrl.pathname + tokenUrl.search
  const server = { url: tokenUrl.origin, pids: [], async stop() {} }
  return {
    name: tokenUrl.href,
    part: 'speed',
    async measure(bench: Bench) {
      const requests = [tokenRequest(client, { path, scope })]
      const [theirs, floor] = await measureInterleaved(bench, [
        { name: tokenUrl.href, server, requests },
        { name: 'floor', server: await bench.servers.startFloor('token'), requests },
      ])
      return besideFloorFindings(tokenUrl.href, theirs, floor)
    },
  }
}
