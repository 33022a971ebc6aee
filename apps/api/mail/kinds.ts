/** What each kind of mail tells, as it was seen when the mail was written down. Times are ISO 8601 in UTC. */
export interface MailDetails {
  /** Its link is a credential, and what it offers is read when it is sent. */
  invitation: Record<never, never>
  /** Someone asked for a new password for an address. One mail for each of its accounts follows. */
  password_reset_request: { email: string; requestedAt: string }
  /** Its link is a credential. */
  password_reset: { requestedAt: string }
  /** The account has no password here: its person signs in with the OpenID provider. */
  sign_in_with_provider: { requestedAt: string }
  password_changed: { at: string; by: 'person' | 'reset' | 'operator' }
  /** `willBeRevoked`: by this service, because of its setting. */
  secret_found: { client: NamedClient; foundAt: string; willBeRevoked: boolean }
  /** `since`: when it began to be refused. `cause` and `senderKnown`: as in `ClientFailing`. */
  client_failing: {
    client: NamedClient
    since: string
    cause: string
    senderKnown: boolean
    lastTokenAt: string
  }
  clients_expire: { clients: (NamedClient & { expiresAt: string })[] }
  replaced_client_quiet: {
    client: NamedClient & { lastTokenAt: string }
    replacement: NamedClient & { lastTokenAt: string }
    /** null if fewer than two uses were seen. */
    longestQuietHours: number | null
    /** Since when uses have been recorded. */
    seenSince: string
  }
  issuer_keys_unreachable: { issuer: string; since: string; clients: NamedClient[] }
}

export interface NamedClient {
  clientId: string
  name: string
}

export type MailKind = keyof MailDetails

/** Whether a kind goes before all others, because somebody waits for it or harm grows meanwhile. */
export const IS_URGENT: Readonly<Record<MailKind, boolean>> = {
  invitation: true,
  password_reset_request: true,
  password_reset: true,
  sign_in_with_provider: true,
  password_changed: true,
  secret_found: true,
  client_failing: false,
  clients_expire: false,
  replaced_client_quiet: false,
  issuer_keys_unreachable: false,
}
