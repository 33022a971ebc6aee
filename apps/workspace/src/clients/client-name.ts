import { ApiProblem } from '../api/request.ts'

const NAME_MAX = 100

/** What is wrong with a name, as a sentence. */
export function nameError(name: string): { name?: string } {
  const length = [...name].length
  if (length === 0) return { name: 'Give it a name.' }
  return length > NAME_MAX ? { name: `At most ${NAME_MAX} characters; this has ${length}.` } : {}
}

/** What the service says is wrong with each field. */
export function fieldErrors(
  error: unknown,
): Partial<Record<'name' | 'scopes' | 'publicKey' | 'expiry', string>> {
  if (!(error instanceof ApiProblem)) return {}
  const about = (pointer: string) => error.errors.find((each) => each.pointer.startsWith(pointer))?.detail
  const name = about('/name')
  const scopes = about('/scopes')
  const publicKey = about('/publicKey')
  const expiry = about('/expiresAt')
  return {
    ...(name && { name: `The name ${name}.` }),
    ...(scopes && { scopes: `The choice of scopes ${scopes}.` }),
    ...(publicKey && { publicKey: `The key ${publicKey}.` }),
    ...(expiry && { expiry: `The day ${expiry}.` }),
  }
}

/** "Warehouse", "Warehouse 2", "Warehouse 3", within the length that a name may have. */
export function nextName(name: string): string {
  const [, stem = name, number] = /^(.*?)(?: (\d{1,4}))?$/s.exec(name) ?? []
  const suffix = ` ${Number(number ?? 1) + 1}`
  return [...stem].slice(0, NAME_MAX - suffix.length).join('') + suffix
}
