import type { Scope } from '#shared/oauth/scopes.ts'

export type Role = 'owner' | 'admin' | 'member'

export interface Company {
  vendorId: string
  name: string
  role: Role
  status: 'active' | 'suspended'
  /** Whom to ask for access. */
  ownerName: string | null
}

export interface Person {
  userId: string
  name: string
  email: string
  role: Role
  status: 'active' | 'suspended' | 'invited'
  /** When the invitation ends; null: a member. */
  expiresAt: string | null
}

export interface PersonPage {
  people: Person[]
  nextCursor: string | null
}

/** `invitationUrl` is in this one answer only. */
export type InvitedPerson = Person & { invitationUrl: string }

export interface InvitationPreview {
  vendorId: string
  companyName: string
  invitedBy: string
  name: string
  email: string
  role: 'admin' | 'member'
  expiresAt: string
}

export interface SessionAnswer {
  /** Seconds until the session ends. */
  expiresIn: number
  user: { userId: string; name: string; email: string }
  companies: Company[]
}

/** Who did something; `userId` is null for an operator of the service. */
export interface Actor {
  userId: string | null
  name: string
}

export interface OAuthClient {
  clientId: string
  name: string
  scopes: Scope[]
  /** The secret's last four characters; null: created before they were kept. */
  secretHint: string | null
  status: 'Active' | 'Revoked'
  createdAt: string
  createdBy: Actor | null
  revokedAt: string | null
  revokedBy: Actor | null
  /** The client that this one takes over from. */
  replaces: string | null
  /** The client that takes over from this one: an Active one, if there is one. */
  replacedBy: string | null
  lastUsedAt: string | null
  tokensIssued24h: number
}

/** `clientSecret` is null when the answer repeats an earlier creation. */
export type CreatedClient = OAuthClient & { clientSecret: string | null }

export interface ClientPage {
  clients: OAuthClient[]
  nextCursor: string | null
}

export interface ClientUsage {
  /** Every hour of the last 14 days, oldest first; the last one is not over. */
  hours: { hour: string; tokens: number; refused: number }[]
  /** Every minute of the last 60, likewise. */
  minutes: { minute: string; tokens: number; refused: number }[]
  /** When each was last asked for; null: never. */
  scopes: { scope: Scope; lastUsedAt: string | null }[]
  /** The latest first. */
  addresses: { address: string; tokens: number; lastSeenAt: string }[]
}

/** A request that was refused; `reason` and `advice` are a sentence each. */
export interface Refusal {
  requestId: string
  at: string
  clientId: string
  route: string
  status: number
  code: string
  reason: string
  advice: string
}

export interface RefusalPage {
  refusals: Refusal[]
  nextCursor: string | null
}

export interface CallbackDestination {
  vendorId: string
  callbackUrl: string | null
  verified: boolean | null
  updatedAt: string | null
  updatedBy: Actor | null
}

export interface TestSendResult {
  delivered: boolean
  status: number | null
  outcome: 'success' | 'receiver_failure' | 'unconfirmed'
  durationMs: number
  timings: {
    dnsMs: number | null
    connectMs: number | null
    tlsMs: number | null
    firstByteMs: number | null
  }
  url: string
  sentAt: string
  receiver: { address: string; certificateExpiresAt: string | null } | null
  log: string[]
  advice: string
}

export const METRICS = [
  'impressions',
  'clicks',
  'orders',
  'unitsSold',
  'revenueMinor',
  'boostSpendMinor',
] as const
export type Metric = (typeof METRICS)[number]

export type Day = { date: string; status: 'final' | 'provisional' | 'missing' } & Record<
  Metric,
  number | null
>

export interface DailyAnalytics {
  vendorId: string
  range: { from: string; to: string; timezone: string }
  currency: string
  dataThrough: string | null
  totals: Record<Metric, number>
  days: Day[]
}

export interface ActivityEntry {
  entryId: string
  action: string
  subject: string
  by: Actor | null
  at: string
  detail: Record<string, unknown>
}

export interface ActivityPage {
  entries: ActivityEntry[]
  nextCursor: string | null
}
