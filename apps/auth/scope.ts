import { SCOPES, type Scope } from '#shared/oauth/scopes.ts'

/**
 * Whether a scope parameter (RFC 6749 §3.3) names one or more of these scopes, each once, separated by single spaces.
 */
export function areAssigned(parameter: string, assigned: readonly Scope[]): boolean {
  const names = parameter.split(' ')
  return (
    new Set(names).size === names.length &&
    names.every((name) => (assigned as readonly string[]).includes(name))
  )
}

/** The scopes that a scope parameter names although they are not among these. What is no scope is left out. */
export function scopesLacking(parameter: string, assigned: readonly Scope[]): Scope[] {
  const names = new Set(parameter.split(' '))
  return SCOPES.filter((scope) => names.has(scope) && !assigned.includes(scope))
}
