import type { Log } from './log.ts'

/**
 * @returns what says once, loudly, that a peer which is not in TRUSTED_PROXIES sends X-Forwarded-For: it is a proxy that
 * should be there, and until then the limits see all its callers as one address; or someone pretends to be one.
 */
export function createProxyWarning(log: Log): (peer: string) => void {
  let warned = false
  return (peer) => {
    if (warned) return
    warned = true
    const message = 'X-Forwarded-For comes from an address that TRUSTED_PROXIES does not name and is ignored'
    log.warn({ event: 'proxy.untrusted', peer }, message)
  }
}
