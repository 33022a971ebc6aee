import { createReadStream } from 'node:fs'
import { z } from 'zod'
import type { LoggedEntry } from '#shared/accounts/activity.ts'
import { base64url } from '#shared/accounts/activity-leaf.ts'
import type { LogHead } from '#shared/accounts/activity-log.ts'
import { rootFromProof } from '#shared/accounts/activity-tree.ts'
import type { LogVerdict, SeenHead } from './audit.ts'
import { type Fault, judgeEntry, named } from './audit-entry.ts'
import { checkSignatures, type SignatureKeys } from './audit-heads.ts'
import { readLines } from './event-file.ts'
import { OperatorError } from './operator.ts'

/** More are counted, but not listed. */
const FAULTS_MAX = 10_000

const bytes = z
  .string()
  .regex(/^[\w-]*$/)
  .transform((text) => Buffer.from(text, 'base64url'))
const hash = bytes.refine((value) => value.length === 32)
const place = z.int().min(0)
const time = z.iso.datetime().pipe(z.coerce.date())

const Head = z.object({ treeSize: place, rootHash: hash, at: time, signed: z.string().nullable() })
const HeadLine = z.object({ head: Head })
const LoggedHead = z.object({
  event: z.literal('activity.head'),
  time: z.union([z.number(), z.string()]).pipe(z.coerce.date()),
  treeSize: place,
  rootHash: hash,
})
const EntryLine = z.object({
  index: place,
  entryId: z.string().regex(/^\d{1,15}$/),
  at: z.string().max(40),
  vendorId: z.string().nullable(),
  userId: z.string().nullable(),
  operator: z.string().nullable(),
  action: z.string(),
  subject: z.string(),
  detail: z.record(z.string(), z.unknown()),
  salt: bytes.nullable(),
  detailHash: hash,
  operatorSalt: bytes.nullable(),
  operatorHash: hash.nullable(),
  proof: z.string().regex(/^(?:[\w-]{43}(?:\.[\w-]{43}){0,63})?$/),
})

export const headLine = ({ treeSize, rootHash, at, signed }: LogHead): string =>
  JSON.stringify({ head: { treeSize, rootHash: base64url(rootHash), at: at.toISOString(), signed } })

/** An entry as a line of an export, which holds all that its hash was made from. */
export function entryLine(entry: LoggedEntry, proof: readonly Buffer[]): string {
  const { entryId, leafIndex, at, vendorId, userId, operator, action, subject, detail } = entry
  return JSON.stringify({
    index: leafIndex,
    entryId: String(entryId),
    ...{ at, vendorId, userId, operator, action, subject, detail },
    salt: base64url(entry.salt),
    detailHash: base64url(entry.detailHash),
    operatorSalt: base64url(entry.operatorSalt),
    operatorHash: base64url(entry.operatorHash),
    proof: proof.map(base64url).join('.'),
  })
}

async function* linesOf(file: string): AsyncGenerator<{ number: number; value: unknown }> {
  try {
    for await (const lines of readLines(createReadStream(file)))
      for (const { number, text } of lines) if (text !== '') yield { number, value: parsed(text) }
  } catch (error) {
    throw new OperatorError(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code}.`)
  }
}

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}

/** Returns the heads in log files of the API (`activity.head`) and in exports. @throws OperatorError */
export async function readSeenHeads(files: readonly string[]): Promise<SeenHead[]> {
  const seen: SeenHead[] = []
  for (const source of files)
    for await (const { value } of linesOf(source)) {
      const logged = LoggedHead.safeParse(value).data
      const exported = HeadLine.safeParse(value).data
      if (logged) seen.push({ ...logged, at: logged.time, source })
      else if (exported) seen.push({ ...exported.head, source })
    }
  return seen
}

/**
 * Checks an export alone: that each line is covered by the head at the file's beginning, and that none is missing
 * from the first to that head's last.
 * @throws OperatorError if the file cannot be read, or has no head.
 */
export async function verifyExport(
  file: string,
  { keys, seen }: { keys: SignatureKeys | undefined; seen: readonly SeenHead[] },
): Promise<LogVerdict> {
  let head: LogHead | undefined
  let next: number | undefined
  let entries = 0
  const erased: number[] = []
  const faults: Fault[] = []
  const add = (fault: Fault) => faults.length < FAULTS_MAX && faults.push(fault)
  for await (const { number, value } of linesOf(file)) {
    head ??= HeadLine.safeParse(value).data?.head
    if (!head) throw new OperatorError(`${file} does not begin with a head: is it an export?`)
    if (number === 1) continue
    const line = EntryLine.safeParse(value).data
    if (!line) {
      add({ kind: 'unreadable', text: `Line ${number} is no entry.` })
      continue
    }
    const { index, proof, ...shown } = line
    const entry = { ...shown, entryId: Number(line.entryId), leafIndex: index }
    next ??= index
    if (index !== next) add(outOfOrder(entry, next))
    if (index >= next) next = index + 1
    entries += 1
    const check = judgeEntry(entry)
    if (check.erased) erased.push(entry.entryId)
    const path = proof === '' ? [] : proof.split('.').map((text) => Buffer.from(text, 'base64url'))
    const root = rootFromProof(check.hash, { index, size: head.treeSize, proof: path })
    if (!root?.equals(head.rootHash))
      add({ kind: 'changed', ...named(entry), text: `${named(entry).text} is not what was logged.` })
    else if (check.fault) add(check.fault)
  }
  if (!head) throw new OperatorError(`${file} is empty.`)
  if (next !== undefined && next < head.treeSize)
    add({ kind: 'cut', index: next, text: `The file ends before place ${next} of ${head.treeSize}.` })
  faults.push(...differing(head, seen), ...(await checkSignatures([head], keys)))
  const rootHash = head.rootHash.toString('base64url')
  return { entries, rootHash, erased, heads: 1 + seen.length, faults }
}

function outOfOrder(entry: LoggedEntry, next: number): Fault {
  const { leafIndex: index } = entry
  if (index > next) {
    const text = `The entries at places ${next} to ${index - 1} are missing before entry ${entry.entryId}.`
    return { kind: 'removed', index: next, text }
  }
  const { text } = named(entry)
  return {
    kind: 'exchanged',
    ...named(entry),
    text: `${text}, of place ${index}, follows place ${next - 1}.`,
  }
}

/** A head of another size cannot be compared with an export. */
const differing = (head: LogHead, seen: readonly SeenHead[]): Fault[] =>
  seen
    .filter(({ treeSize, rootHash }) => treeSize === head.treeSize && !rootHash.equals(head.rootHash))
    .map(({ at, source }) => ({
      kind: 'head',
      text: `The head of ${at.toISOString()}, seen in ${source}, is of another log.`,
    }))
