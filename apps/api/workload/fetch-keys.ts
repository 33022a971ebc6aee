import type { JWK } from 'jose'
import { findAddresses } from '../guarded-fetch/address-lookup.ts'
import { exchange } from '../guarded-fetch/exchange.ts'
import type { FetchFailure } from '../guarded-fetch/failures.ts'
import type { Internet } from '../guarded-fetch/internet.ts'
import { checkPublicUrl } from '../guarded-fetch/url-verdict.ts'
import { createFairQueue } from '../http/fair-queue.ts'
import { parseKeySet } from '../keys/key-set.ts'
import { unavailable } from '../problems/problems.ts'

/** For both documents, from the first DNS query on. */
const TOTAL_TIMEOUT_MS = 5_000
const DOCUMENT_LIMIT_BYTES = 64 * 1_024
/** For people who create clients. Fewer than ten companies with slow issuers delay only themselves. */
const QUEUE = { concurrency: 20, concurrencyPerKey: 2, waitingMax: 100, wait_ms: 5_000 }

/**
 * Fetches an issuer's public keys (OpenID Connect Discovery §4, RFC 7517). If that fails, returns the reason
 * as text for a person of the company.
 */
export type FetchKeys = (issuer: string) => Promise<JWK[] | string>

/** The same in the company's turn. */
export type FetchKeysInTurn = (vendorId: string, issuer: string) => ReturnType<FetchKeys>

/** It connects only to public addresses, also for the URL that the issuer names. */
export function createFetchKeys(internet: Internet): FetchKeys {
  return async (issuer) => {
    const stop = new AbortController()
    const timer = setTimeout(() => stop.abort('total_timeout' satisfies FetchFailure), TOTAL_TIMEOUT_MS)
    const read = (url: unknown) => readDocument(url, internet, stop.signal)
    try {
      const discovery = await read(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
      if (typeof discovery === 'string') return discovery
      if (discovery.issuer !== issuer)
        return discovery.issuer === toggleSlash(issuer)
          ? 'the issuer in its discovery document must be the same: it differs by the slash at its end'
          : 'the issuer in its discovery document must be the same, character by character'
      if (typeof discovery.jwks_uri !== 'string') return 'its discovery document must have a jwks_uri'
      const set = await read(discovery.jwks_uri)
      return typeof set === 'string' ? set : parseKeySet(set)
    } finally {
      clearTimeout(timer)
    }
  }
}

const toggleSlash = (url: string): string => (url.endsWith('/') ? url.slice(0, -1) : `${url}/`)

export function queueFetches(fetchKeys: FetchKeys): FetchKeysInTurn {
  const refusal = () => unavailable('Too many issuers are being asked for keys. Try again shortly.')
  const queue = createFairQueue({ ...QUEUE, refusal })
  return (vendorId, issuer) => queue(vendorId, () => fetchKeys(issuer))
}

async function readDocument(
  url: unknown,
  { resolve, checkAddress, certificateAuthority }: Internet,
  signal: AbortSignal,
): Promise<Record<string, unknown> | string> {
  const verdict = checkPublicUrl(url, checkAddress)
  if (!verdict.ok) return 'it must be a public https URL, and so must its jwks_uri'
  const lookup = await findAddresses(verdict.url, { resolve, checkAddress, signal })
  if (lookup.failure) return describeFailure(lookup.failure)
  const { answer, failure } = await exchange({
    href: verdict.url.href,
    addresses: lookup.addresses,
    checkAddress,
    certificateAuthority,
    bodyLimit_bytes: DOCUMENT_LIMIT_BYTES,
    signal,
  })
  if (!answer) return describeFailure(failure ?? 'no_answer')
  if (answer.status !== 200) return 'it must answer with status 200, without a redirect'
  if (answer.bodyEnd !== 'whole')
    return `its documents must arrive whole, with at most ${DOCUMENT_LIMIT_BYTES / 1_024} KiB each`
  try {
    const document: unknown = JSON.parse(answer.body.toString())
    if (typeof document === 'object' && document) return document as Record<string, unknown>
  } catch {
    // Not JSON, which the last line reports.
  }
  return 'its documents must be JSON, and not compressed'
}

const describeFailure = (failure: FetchFailure): string =>
  failure === 'total_timeout'
    ? `it must publish its keys within ${TOTAL_TIMEOUT_MS / 1_000} seconds`
    : failure.replaceAll('_', ' ')
