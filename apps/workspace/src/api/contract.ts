import type { components } from './openapi.d.ts'

/** The API's schemas by the names that screens use. `npm run api-types` generates them. */
type Schemas = components['schemas']

export type SessionAnswer = Schemas['Session']
export type Company = SessionAnswer['companies'][number]
export type ListedSession = Schemas['ListedSession']
export type SignInMethods = Schemas['SignInMethods']
export type SignedOut = Schemas['SignedOut']
export type StartedOpenid = Schemas['StartedOpenid']
export type SessionPage = Schemas['SessionPage']
export type OAuthClient = Schemas['OAuthClient']
export type NewClient = Schemas['OAuthClientInput']
export type KeySet = Schemas['JsonWebKeySet']
export type WorkloadIssuerKeys = Schemas['WorkloadIssuerKeys']
export type WorkloadIssuer = Schemas['WorkloadIssuer']
export type CreatedClient = Schemas['CreatedOAuthClient']
export type ClientPage = Schemas['OAuthClientPage']
export type ClientUsage = Schemas['OAuthClientUsage']
export type ClientRequests = Schemas['OAuthClientRequests']
export type ClientRequest = ClientRequests['requests'][number]
export type ClientRotation = Schemas['ClientRotation']
export type ExplainedRequest = Schemas['ExplainedRequest']
export type CallbackDestination = Schemas['Callback']
export type TestSendResult = Schemas['CallbackTest']
export type DailyAnalytics = Schemas['DailyAnalytics']
export type Day = DailyAnalytics['days'][number]
export type ActivityEntry = Schemas['ActivityEntry']
export type ActivityPage = Schemas['ActivityPage']
export type Person = Schemas['Person']
export type PersonPage = Schemas['PersonPage']
/** `invitationUrl` is in this one answer only. */
export type InvitedPerson = Schemas['InvitedPerson']
export type InvitationPreview = Schemas['InvitationPreview']
export type Role = Person['role']

export const METRICS = [
  'impressions',
  'clicks',
  'orders',
  'unitsSold',
  'revenueMinor',
  'boostSpendMinor',
] as const satisfies (keyof DailyAnalytics['totals'])[]
export type Metric = (typeof METRICS)[number]
