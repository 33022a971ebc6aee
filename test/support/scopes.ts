import type { Scope } from '#shared/oauth/scopes.ts'

/** Every subset but the empty one. */
export const subsets = (scopes: readonly Scope[]): Scope[][] =>
  Array.from({ length: 2 ** scopes.length - 1 }, (_, bits) => scopes.filter((_, i) => ((bits + 1) >> i) & 1))

/** Every order of the scopes. */
export const orders = (scopes: readonly Scope[]): Scope[][] =>
  scopes.length < 2
    ? [[...scopes]]
    : scopes.flatMap((first) =>
        orders(scopes.filter((scope) => scope !== first)).map((order) => [first, ...order]),
      )
