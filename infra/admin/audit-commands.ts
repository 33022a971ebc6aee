import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { firstLeafSince, listLoggedEntries } from '#shared/accounts/activity.ts'
import { newestHead, readProofs } from '#shared/accounts/activity-log.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { type LogVerdict, verifyLog } from './audit.ts'
import { entryLine, headLine, readSeenHeads, verifyExport } from './audit-file.ts'
import type { SignatureKeys } from './audit-heads.ts'
import { command, group, type Outcome, type Print, type Run } from './commands.ts'
import { OperatorError } from './operator.ts'
import { momentOf } from './restore-commands.ts'

const ENTRIES_AT_ONCE = 500
const FAULTS_SHOWN = 100
const EXIT_FAULTS = 1

interface VerifyOptions {
  file?: string
  keys?: string
  seen: string[]
}

/** The log of what people and operators did: whether it is whole, and its export. */
export function addAuditCommands(
  program: Command,
  { run, print, stdout, callerFolder }: { run: Run; print: Print; stdout: Writes; callerFolder: string },
): void {
  const audit = group(program, 'audit', 'The log of what people and operators did')
  const at = (file: string) => resolve(callerFolder, file)
  command(
    audit,
    'verify',
    'Find entries that were changed, removed, added or exchanged. Exits with code 1 if there is one.',
    'audit verify --keys activity-keys.json --seen audit.ndjson',
  )
    .option('--file <export>', 'check an export alone, without the database')
    .option('--keys <file>', 'check signatures too, with the keys of /.well-known/activity-keys.json')
    .option(
      '--seen <file...>',
      'compare with the heads in logs of the API and in earlier exports, so that a cut end is found',
      [],
    )
    .action(async ({ file, keys: keysFile, seen: files }: VerifyOptions) => {
      const read = async () => ({
        keys: keysFile === undefined ? undefined : await readKeys(at(keysFile)),
        seen: await readSeenHeads(files.map(at)),
      })
      await (file === undefined
        ? run(async ({ db }) => inWords(await verifyLog(db, await read()), keysFile))
        : print(async () => inWords(await verifyExport(at(file), await read()), keysFile)))
    })
  command(
    audit,
    'export',
    'Print the log as NDJSON: its newest head, then each entry with the proof that the head covers it',
    'audit export --since 2026-01-31T09:00:00Z > log.ndjson',
  )
    .option('--since <time>', 'begin with the first entry from this time on (ISO 8601)')
    .action(({ since }: { since?: string }) =>
      run(async ({ db }) => {
        await exportLog(db, since === undefined ? undefined : momentOf(since), stdout)
        return undefined
      }),
    )
}

/** Calls back once it can take more. */
export type Writes = Pick<NodeJS.WritableStream, 'write'>

async function readKeys(file: string): Promise<SignatureKeys> {
  try {
    const keys = JSON.parse(await readFile(file, 'utf8'))
    if (Array.isArray(keys.keys)) return keys
  } catch {}
  throw new OperatorError(`${file} has no keys: fetch it from /.well-known/activity-keys.json of the API.`)
}

async function exportLog(db: Database, since: Date | undefined, stdout: Writes): Promise<void> {
  const head = await newestHead(db)
  if (!head)
    throw new OperatorError('The log has no head yet. The API makes one within seconds of its start.')
  const write = (lines: readonly string[]) =>
    new Promise<void>((resolve, reject) => {
      const text = lines.map((line) => `${line}\n`).join('')
      stdout.write(text, (error?: Error | null) => (error ? reject(error) : resolve()))
    })
  await write([headLine(head)])
  const first = since ? ((await firstLeafSince(db, since)) ?? head.treeSize) : 0
  for (let from = first; from < head.treeSize; from += ENTRIES_AT_ONCE) {
    const to = Math.min(from + ENTRIES_AT_ONCE, head.treeSize)
    const entries = await listLoggedEntries(db, { from, to })
    const indexes = entries.map(({ leafIndex }) => leafIndex)
    const proofs = await readProofs(db, indexes, head.treeSize)
    await write(entries.map((entry) => entryLine(entry, proofs.get(entry.leafIndex) ?? [])))
  }
}

function inWords(verdict: LogVerdict, keysFile: string | undefined): Outcome {
  const { entries, rootHash, erased, heads, faults } = verdict
  const signatures = keysFile ? ' and their signatures' : '; signatures were not checked (--keys)'
  const shown = faults.slice(0, FAULTS_SHOWN).map(({ text }) => `- ${text}`)
  const more = faults.length - shown.length
  const text = [
    `${entries} entries, root ${rootHash}. Compared with ${heads} heads${signatures}.`,
    ...(erased.length > 0
      ? [`${erased.length} entries are erased: ${erased.slice(0, FAULTS_SHOWN).join(', ')}.`]
      : []),
    faults.length === 0
      ? 'No entry was changed, removed, added or exchanged.'
      : `Faults found: ${faults.length}`,
    ...shown,
    ...(more > 0 ? [`- and ${more} more`] : []),
  ].join('\n')
  return { text, data: verdict, exitCode: faults.length > 0 ? EXIT_FAULTS : 0 }
}
