import { useSearchParams } from 'wouter'

/** The parameters of an address: each with its default, and whether a text can be meant by it. */
export interface SearchShape<T extends Record<string, string>> {
  defaults: T
  accepts: { [Name in keyof T]?: (text: string) => boolean }
}

/** Reads what an address asks for. What cannot be meant is left out, since an address may be mistyped. */
export function readSearch<T extends Record<string, string>>(
  search: URLSearchParams,
  { defaults, accepts }: SearchShape<T>,
): T {
  const texts = Object.keys(defaults).map((name) => [name, search.get(name) ?? ''] as const)
  return {
    ...defaults,
    ...Object.fromEntries(texts.filter(([name, text]) => text && (accepts[name]?.(text) ?? true))),
  }
}

/** Returns the parameters of an address. Defaults are left out. */
export const writeSearch = <T extends Record<string, string>>(values: T, { defaults }: SearchShape<T>) =>
  new URLSearchParams(Object.entries(values).filter(([name, text]) => text !== defaults[name]))

/** What the address asks for, and a function that changes a part of it. */
export function useSearch<T extends Record<string, string>>(shape: SearchShape<T>) {
  const [search, setSearch] = useSearchParams()
  const values = readSearch(search, shape)
  const change = (part: Partial<T>) =>
    setSearch(writeSearch({ ...values, ...part }, shape), { replace: true })
  return [values, change] as const
}
