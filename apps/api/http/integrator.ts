import type { Scope } from '#shared/oauth/scopes.ts'
import type { Access } from './route.ts'

/** A client whose access token has passed every check, and its company, which is the one of the path. */
export interface Integrator {
  clientId: string
  vendorId: string
}

/** @returns who may call a route that needs an access token with this scope. */
export type RequireAccessToken = (scope: Scope) => Access<Integrator>
