import { CLIENT_NAME_MAX_CHARACTERS as MAX } from '#shared/rules/clients.ts'

/** What is wrong with a name, as a sentence. */
export function nameError(name: string): string | undefined {
  const length = [...name].length
  if (length === 0) return 'Give it a name.'
  return length > MAX ? `At most ${MAX} characters; this has ${length}.` : undefined
}

/** "Warehouse", "Warehouse 2", "Warehouse 3", within the length that a name may have. */
export function nextName(name: string): string {
  const [, stem = name, number] = /^(.*?)(?: (\d{1,4}))?$/s.exec(name) ?? []
  const suffix = ` ${Number(number ?? 1) + 1}`
  return [...stem].slice(0, MAX - suffix.length).join('') + suffix
}
