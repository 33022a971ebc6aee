import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { TlsOptions } from 'node:tls'
import type { JWK } from 'jose'
import { createCertificate } from './certificates.ts'
import { authority, startHttpsReceiver } from './receivers.ts'

const NAME = 'issuer.acme-platform.com'
const certificate = createCertificate({ commonName: NAME, names: [NAME], issuer: authority })
const TLS: TlsOptions = { key: certificate.keyPem, cert: certificate.pem }

/** What an issuer publishes; a test changes it while the issuer runs. */
export interface Published {
  discovery?: unknown
  keys: unknown
  /** Answers in place of what is published. */
  answer?: (request: IncomingMessage, response: ServerResponse) => void
}

/** A TLS issuer of workloads' tokens on loopback. The API needs a resolver and address rule that allow it. */
export async function startWorkloadIssuer(keys: JWK[]) {
  const published: Published = { keys }
  const requests: string[] = []
  const listener: RequestListener = (request, response) => {
    requests.push(`${request.method} ${request.url}`)
    if (published.answer) return published.answer(request, response)
    const isDiscovery = request.url === '/.well-known/openid-configuration'
    const discovery = published.discovery ?? { issuer, jwks_uri: `${issuer}/keys` }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(isDiscovery ? discovery : { keys: published.keys }))
  }
  const receiver = await startHttpsReceiver(listener, TLS)
  const issuer = `https://${NAME}:${receiver.port}`
  return { issuer, published, requests, receiver, [Symbol.asyncDispose]: () => receiver.stop() }
}
