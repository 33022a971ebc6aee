import { addClients, tokenRequest } from './fixtures.ts'
import { measureInterleaved, p99Ratio, throughput } from './measure.ts'
import type { Bench } from './row.ts'

const CLIENTS = 10_000

export async function tokenBesideFloor(bench: Bench) {
  const requests = (await addClients(bench.db, CLIENTS)).map(tokenRequest)
  const [ours, floor] = await measureInterleaved(bench, [
    { name: 'token endpoint, 10,000 clients', server: bench.auth, requests },
    { name: 'floor', server: await bench.startFloor('token'), requests },
  ])
  return [
    throughput(ours, floor, { beside: 'bare node:http: form, SHA-256, ES256', goal: { least: 0.8 } }),
    p99Ratio(ours, floor, { beside: "the floor's", goal: { most: 2 } }),
  ]
}

export async function tokenBesideProvider(bench: Bench) {
  const [client] = await addClients(bench.db, 1)
  const request = tokenRequest(client)
  const provider = await bench.startFloor('provider', {
    BENCH_CLIENT_ID: client.clientId,
    BENCH_CLIENT_SECRET: client.clientSecret,
  })
  const [ours, theirs] = await measureInterleaved(bench, [
    { name: 'token endpoint, 1 client', server: bench.auth, requests: [request] },
    { name: 'oidc-provider', server: provider, requests: [{ ...request, path: '/token' }] },
  ])
  return [throughput(ours, theirs, { beside: 'oidc-provider as it comes, in memory', goal: { least: 2 } })]
}
