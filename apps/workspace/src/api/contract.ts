import type { components, paths } from './openapi.d.ts'

/** The API's schemas by the names that screens use. `npm run api-types` generates them. */
type Schemas = components['schemas']
type Get<Path extends keyof paths> = paths[Path] extends { get: infer Operation } ? Operation : never
/** A path with a GET, its parameters, and what it answers. */
export type ReadPath = {
  [Path in keyof paths]: paths[Path] extends { get: object } ? Path : never
}[keyof paths]
export type Params<Path extends ReadPath> =
  Get<Path> extends { parameters: infer All } ? Pick<All, Extract<keyof All, 'path' | 'query'>> : never
export type Data<Path extends ReadPath> =
  Get<Path> extends { responses: { 200: { content: { 'application/json': infer Body } } } } ? Body : never
export type Query<Path extends ReadPath> =
  Get<Path> extends { parameters: { query?: infer Query } } ? NonNullable<Query> : never

export type SessionAnswer = Schemas['Session']
export type SignedOut = Schemas['SignedOut']
export type Company = SessionAnswer['companies'][number]
export type ListedSession = Schemas['ListedSession']
export type SignInMethods = Schemas['SignInMethods']
export type OAuthClient = Schemas['OAuthClient']
export type NewClient = Schemas['OAuthClientInput']
export type KeySet = Schemas['JsonWebKeySet']
export type WorkloadIssuerKeys = Schemas['WorkloadIssuerKeys']
export type CreatedClient = Schemas['CreatedOAuthClient']
export type ClientUsage = Schemas['OAuthClientUsage']
export type ClientRequest = Schemas['OAuthClientRequests']['requests'][number]
export type ClientRotation = Schemas['ClientRotation']
export type ExplainedRequest = Schemas['ExplainedRequest']
export type CallbackDestination = Schemas['Callback']
export type TestSendResult = Schemas['CallbackTest']
export type DailyAnalytics = Schemas['DailyAnalytics']
export type Day = DailyAnalytics['days'][number]
export type ActivityEntry = Schemas['ActivityEntry']
export type Person = Schemas['Person']
export type NewPerson = Schemas['PersonInput']
export type PersonChange = Schemas['PersonChange']
/** `invitationUrl` is in this one answer only. */
export type InvitedPerson = Schemas['InvitedPerson']
export type InvitationPreview = Schemas['InvitationPreview']
export type Role = Person['role']

export type Metric = keyof DailyAnalytics['totals']
