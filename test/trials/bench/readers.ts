import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { addClients, addCompanies, type BenchClient, requestToken } from './fixtures.ts'
import { type HttpRequest, send } from './requests.ts'
import type { World } from './world.ts'

/**
 * So many companies take turns, each with a client and a token: equal reads of one moment share their work in the
 * service, and real reads are not equal.
 */
const COMPANIES = 16
const STORED_DAYS = 400

/** The daily reads of several companies, as they are asked and as they are answered. */
export interface Readers {
  clients: BenchClient[]
  tokens: string[]
  requests: HttpRequest[]
  /** A file of the answers, for the floors. */
  answersFile: string
}

/** @param query such as `?from=2025-01-01`. */
export async function createReaders(world: World, query = ''): Promise<Readers> {
  const companies = await addCompanies(world.db, COMPANIES, STORED_DAYS)
  const clients = await addClients(world.db, companies, 1)
  const tokens = await Promise.all(clients.map((client) => requestToken(world.auth, client)))
  const requests = clients.map(({ vendorId }, i) => dailyRead(vendorId, tokens[i] as string, query))
  const answers = await Promise.all(requests.map((request) => answerTo(world, request)))
  const answersFile = join(world.directory, `answers-${companies[0]}.json`)
  await writeFile(answersFile, JSON.stringify(requests.map(({ path }, i) => [path, answers[i]])))
  return { clients, tokens, requests, answersFile }
}

export function dailyRead(vendorId: string, token: string, query = ''): HttpRequest {
  return {
    method: 'GET',
    path: `/v1/analytics/${vendorId}/daily${query}`,
    headers: { Authorization: `Bearer ${token}` },
  }
}

async function answerTo({ api }: World, request: HttpRequest): Promise<{ body: string; etag: string }> {
  const response = await send(api, request)
  const body = await response.text()
  const etag = response.headers.get('etag')
  if (!response.ok || !etag) throw new Error(`the daily read answered ${response.status}: ${body}`)
  return { body, etag }
}
