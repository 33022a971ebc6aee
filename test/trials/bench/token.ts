import { addClients, tokenRequest } from './fixtures.ts'
import { measureBeside } from './measure.ts'
import type { Bench, Finding } from './row.ts'

const CLIENTS = 10_000

export async function tokenBesideFloor(bench: Bench): Promise<Finding[]> {
  const requests = (await addClients(bench.db, CLIENTS)).map(tokenRequest)
  const what = 'token endpoint, 10,000 clients'
  const floor = { name: 'floor', server: await bench.startFloor('token'), requests }
  const { throughput, p99 } = await measureBeside(bench, { name: what, server: bench.auth, requests }, floor)
  const beside = 'bare node:http: form, SHA-256, ES256'
  return [
    { what, beside, value: throughput, unit: 'ratio', goal: { least: 0.8 } },
    { what: `${what}: p99`, beside: "the floor's", value: p99, unit: 'ratio', goal: { most: 2 } },
  ]
}

export async function tokenBesideProvider(bench: Bench): Promise<Finding[]> {
  const [client] = await addClients(bench.db, 1)
  const request = tokenRequest(client)
  const provider = await bench.startFloor('provider', {
    BENCH_CLIENT_ID: client.clientId,
    BENCH_CLIENT_SECRET: client.clientSecret,
  })
  const what = 'token endpoint, 1 client'
  const { throughput } = await measureBeside(
    bench,
    { name: what, server: bench.auth, requests: [request] },
    { name: 'oidc-provider', server: provider, requests: [{ ...request, path: '/token' }] },
  )
  const beside = 'oidc-provider as it comes, in memory'
  return [{ what, beside, value: throughput, unit: 'ratio', goal: { least: 2 } }]
}
