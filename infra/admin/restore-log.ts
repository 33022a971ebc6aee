import { type FileHandle, open } from 'node:fs/promises'
import { z } from 'zod'
import { TOKEN_MAX_MS } from '../../apps/api/revocation/restore-check.ts'
import { readLines } from './lines.ts'
import { OperatorError } from './operator.ts'

const CHANGES_MAX = 10_000

/** A change that a person made in the workspace. */
export interface LoggedChange {
  at: Date
  vendorId: string
  userId: string
  action: string
  subject: string
}

/** The contents of the services' logs since a point in time. */
export interface LoggedEvidence {
  /** The times of the first and the last line; undefined if there is no line. */
  from: Date | undefined
  to: Date | undefined
  clients: Set<string>
  /** Ids of signing keys. */
  keys: Set<string>
  /** The `jti` of tokens that may still be valid. */
  tokens: Set<string>
  /** People and companies that an operator erased, by id. */
  erased: Set<string>
  /** The first 10,000. */
  changes: LoggedChange[]
  /** Lines that are not JSON, or have no time. */
  unreadable: number
}

/** Its id becomes part of a command that an operator may copy. */
const ERASED = /^(?:person\.erased usr|company\.erased ven)_[A-Za-z0-9]{1,60}$/

const LogLine = z.object({
  time: z.union([z.number(), z.string()]).pipe(z.coerce.date()),
  event: z.string().optional(),
  action: z.string().optional(),
  subject: z.string().optional(),
  clientId: z.string().optional(),
  jti: z.string().optional(),
  kid: z.string().optional(),
  vendorId: z.string().optional(),
  userId: z.string().optional(),
})

/** A log that can be read, once. */
export interface OpenLog {
  file: string
  handle: FileHandle
}

/** @throws OperatorError that names a file that cannot be opened. */
export async function openLog(file: string): Promise<OpenLog & AsyncDisposable> {
  const handle = await open(file).catch((error) => Promise.reject(unreadable(file, error.code)))
  const close = () => handle.close()
  if (!(await handle.stat()).isDirectory()) return { file, handle, [Symbol.asyncDispose]: close }
  await close()
  throw unreadable(file, 'EISDIR')
}

const unreadable = (file: string, code: string | undefined): OperatorError =>
  new OperatorError(`The log ${file} cannot be read: ${code}.`)

/**
 * Reads logs of either service, with one JSON object per line, in any order. Call it behind a fence.
 * @throws OperatorError when one cannot be read.
 */
export async function readLoggedEvidence(
  logs: readonly OpenLog[],
  { since, now_ms }: { since: Date; now_ms: number },
): Promise<LoggedEvidence> {
  const evidence: LoggedEvidence = {
    from: undefined,
    to: undefined,
    clients: new Set(),
    keys: new Set(),
    tokens: new Set(),
    erased: new Set(),
    changes: [],
    unreadable: 0,
  }
  for (const { file, handle } of logs)
    try {
      for await (const lines of readLines(handle.createReadStream()))
        for (const { text } of lines) if (text !== '') take(evidence, text, { since, now_ms })
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      throw new OperatorError(
        `The log ${file} cannot be read: ${code}. All access stays blocked: run the command again.`,
      )
    }
  return evidence
}

function take(
  evidence: LoggedEvidence,
  text: string | undefined,
  { since, now_ms }: { since: Date; now_ms: number },
): void {
  const line = parsed(text)
  if (!line) {
    evidence.unreadable += 1
    return
  }
  const { time: at, event, clientId, kid, jti, vendorId, userId, action = '', subject = '' } = line
  if (!evidence.from || at < evidence.from) evidence.from = at
  if (!evidence.to || at > evidence.to) evidence.to = at
  if (at < since) return
  if (event === 'client.revoked' && clientId) evidence.clients.add(clientId)
  else if (event === 'signing_key.revoked' && kid) evidence.keys.add(kid)
  else if (event === 'activity' && ERASED.test(`${action} ${subject}`)) evidence.erased.add(subject)
  else if (event === 'token.revoked' && jti) {
    if (at.getTime() + TOKEN_MAX_MS > now_ms) evidence.tokens.add(jti)
  } else if (event === 'activity' && vendorId && userId && evidence.changes.length < CHANGES_MAX)
    evidence.changes.push({ at, vendorId, userId, action, subject })
}

function parsed(text: string | undefined): z.infer<typeof LogLine> | undefined {
  try {
    return LogLine.safeParse(JSON.parse(text ?? '')).data
  } catch {
    return undefined
  }
}
