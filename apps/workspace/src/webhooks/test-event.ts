/** The request of a test event, as it arrives at the receiver. */
export function exampleRequest(callbackUrl: string, vendorId: string, sentAt = new Date()): string {
  const { host, pathname, search } = new URL(callbackUrl)
  const body = testEventPayload(vendorId, sentAt.toISOString())
  return `POST ${pathname}${search} HTTP/1.1
Host: ${host}
Content-Type: application/json
Content-Length: ${new TextEncoder().encode(body).length}
User-Agent: integration-access-service
Accept-Encoding: identity

${body}`
}

/** @param sentAt RFC 3339, in UTC. */
export const testEventPayload = (vendorId: string, sentAt: string): string =>
  JSON.stringify({ type: 'test_event', vendorId, sentAt })
