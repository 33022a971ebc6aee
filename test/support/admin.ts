import assert from 'node:assert/strict'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { newUserId } from '../../apps/api/accounts/new-ids.ts'
import { unusableHash } from '../../apps/api/accounts/passwords.ts'
import { type AssignableRole, insertUser } from '../../apps/api/accounts/people.ts'
import { createCompany } from '../../infra/admin/companies.ts'
import { addMember } from '../../infra/admin/members.ts'
import { runAdmin as run } from '../../infra/admin/program.ts'
import { withoutBeats } from './beats.ts'
import { forBlock, forEachTest } from './block.ts'
import { testOperator } from './operator.ts'
import { createTestDatabase, createTestRedis } from './servers.ts'

export interface AdminResult {
  code: number | null
  stdout: string
  stderr: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape.
  json: any
}

export type TestAdmin = Awaited<ReturnType<typeof startAdmin>>

export const PASSWORD = 'a long enough password'

export interface TestAdminOptions {
  withRedis?: boolean
  /** Whether there is a company, ven_acme, and its owner. */
  withAcme?: boolean
}

/** The operator's command, with a database of its own; no service runs. */
export async function startAdmin({ withRedis = false, withAcme = false }: TestAdminOptions = {}) {
  const database = await createTestDatabase()
  const redis = withRedis ? await createTestRedis() : undefined
  const db = database.connect('owner', { poolSize: 2 })
  const env = {
    DATABASE_URL: database.operatorUrl,
    KEY_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    ...(redis && { REDIS_URL: redis.url('admin') }),
  }
  if (withAcme) await createAcme({ db })
  return {
    database,
    redis,
    /** The owner's connection: to set up and to check. */
    db,
    env,
    /** Runs `npm run admin -- ARGS`. `input` is piped into it, such as a password. */
    admin: (args: string[], input?: string | Buffer) => runAdmin(args, { env, input }),
    async [Symbol.asyncDispose]() {
      await redis?.[Symbol.asyncDispose]()
      await database.drop()
    },
  }
}

export const sharedAdmin = (options?: TestAdminOptions) => forBlock(() => startAdmin(options))

export const freshAdmin = (options?: TestAdminOptions) => forEachTest(() => startAdmin(options))

export async function succeeded<Result extends AdminResult>(running: Promise<Result>): Promise<Result> {
  const result = await running
  assert.equal(result.code, 0, result.stderr)
  return result
}

/** Asserts that a command ends with this code and prints this on standard error. Returns its result. */
export async function refused<Result extends AdminResult>(
  running: Promise<Result>,
  sentence: RegExp | string,
  code = 1,
): Promise<Result> {
  const result = await running
  if (typeof sentence === 'string') assert.equal(result.stderr, sentence)
  else assert.match(result.stderr, sentence)
  assert.equal(result.code, code)
  return result
}

/** Runs the command in this process, with this environment alone. `input` is its standard input. */
export async function runAdmin(
  args: string[],
  {
    env,
    input = '',
    atTerminal = false,
  }: { env: Record<string, string>; input?: string | Buffer | undefined; atTerminal?: boolean },
): Promise<AdminResult> {
  const stdin = Object.assign(Readable.from([Buffer.from(input)]), { isTTY: atTerminal })
  const written = { stdout: new PassThrough(), stderr: new PassThrough() }
  const texts = Promise.all([text(written.stdout), text(written.stderr)])
  const code = await run(args, { env, stdin: stdin as unknown as NodeJS.ReadStream, ...written })
  for (const stream of Object.values(written)) stream.end()
  const [stdout, stderr] = (await texts).map(withoutBeats) as [string, string]
  const isJson = /^[[{]/.test(stdout) && !stdout.trim().includes('\n{')
  return { code, stdout, stderr, json: isJson ? JSON.parse(stdout) : undefined }
}

/** A company with an owner, made as the command makes it. */
export async function createAcme({ db }: Pick<TestAdmin, 'db'>, vendorId = 'ven_acme'): Promise<void> {
  await createCompany(db, {
    vendorId,
    name: 'Acme Outfitters',
    timezone: 'Europe/Berlin',
    currency: 'EUR',
    by: testOperator(),
    owner: {
      email: 'owner@acme.example',
      name: 'Olivia',
      password: async () => PASSWORD,
      account: 'existing' as const,
    },
  })
}

/** Adds a person to ven_acme, whose password nobody knows. */
export async function addPerson({ db }: TestAdmin, email: string, role: AssignableRole): Promise<void> {
  await insertUser(db, { userId: newUserId(), email, name: 'Someone', passwordHash: unusableHash() })
  const person = { email, name: undefined, password: async () => PASSWORD, account: 'existing' as const }
  await addMember(db, { vendorId: 'ven_acme', role, person, by: testOperator() })
}
