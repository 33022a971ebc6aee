import { createInterface } from 'node:readline'
import type { Command } from 'commander'
import { record } from '#shared/accounts/activity.ts'
import { redisReady } from '#shared/stores/redis-ready.ts'
import { forgetRefusals } from '#shared/usage/refusals.ts'
import { command, group, type Run } from './commands.ts'
import { eraseCompany, erasePerson, findCompanyToErase, type Progress } from './erasure.ts'
import { type Operator, OperatorError } from './operator.ts'
import { exportPerson, findPerson } from './person-records.ts'

const REDIS_WAIT_MS = 5_000
const WHO = `
It takes an address, which may have several accounts, <vendor_id>:<address> for that company alone, or a user id.`

/** Where a command asks, and shows what it is doing. */
interface Terminal {
  input: NodeJS.ReadableStream
  output: Pick<NodeJS.WritableStream, 'write'>
}

/** What privacy laws ask for. The runbook's page on privacy says what stays. */
export function addErasureCommands(program: Command, run: Run, terminal: Terminal): void {
  const progress: Progress = (line) => void terminal.output.write(`${line}\n`)
  addPersonCommands(group(program, 'person', 'What is stored about a person', 'people'), run, progress)
  // Beside the other commands for companies.
  const company = program.commands.find((one) => one.name() === 'company') as Command
  command(
    company,
    'erase',
    'Erase a company with all its data, permanently. Its clients are revoked first. You are asked for its name. Repeat it if it was interrupted.',
    'company erase ven_acme',
  )
    .argument('<vendor_id>')
    .option('--yes', 'do not ask')
    .action((vendorId: string, { yes = false }: { yes?: boolean }) =>
      run(async (operator) => {
        const { db, by } = operator
        const { name, begun } = await findCompanyToErase(db, vendorId)
        // Without Redis nothing can be revoked, so nothing begins.
        const revocation = operator.revocation()
        if (!yes && !begun && (await asked(`Type the name of ${vendorId} to erase it: `, terminal)) !== name)
          throw new OperatorError('That is not its name. Nothing was changed.')
        const forget = (clientIds: string[]) => forgetInRedis(operator, { vendorId, clientIds }, progress)
        const erased = await eraseCompany({ db, revocation }, { vendorId, by, progress, forget })
        const { clients, people, rows } = erased
        return {
          text: `${vendorId} is erased: ${people} people, ${clients} Active clients, ${rows} rows.`,
          data: { vendorId, ...erased },
        }
      }),
    )
}

function addPersonCommands(person: Command, run: Run, progress: Progress): void {
  command(
    person,
    'export',
    'Print everything that is stored about a person, as JSON',
    'person export kim@acme.example',
  )
    .argument('<address>')
    .addHelpText('after', WHO)
    .action((given: string) =>
      run(async ({ db, by }) => {
        const found = await findPerson(db, given)
        for (const userId of found.ids) await record(db, { vendorId: null, by }, 'person.exported', userId)
        const data = await exportPerson(db, found)
        return { text: JSON.stringify(data, null, 2), data }
      }),
    )
  command(
    person,
    'erase',
    'Erase what is stored about a person, permanently. All access ends at once. An owner must hand over first.',
    'person erase kim@acme.example',
  )
    .argument('<address>')
    .addHelpText('after', WHO)
    .action((given: string) =>
      run(async ({ db, by }) => {
        const erased = await erasePerson(db, { given, by, progress })
        const { userIds, entries } = erased
        return {
          text: `Erased: ${userIds.join(', ')}; ${entries} entries of the activity have no name any more.`,
          data: erased,
        }
      }),
    )
}

/** Requests expire within two weeks, so an absent Redis stops nothing. */
async function forgetInRedis(
  operator: Operator,
  company: { vendorId: string; clientIds: string[] },
  progress: Progress,
): Promise<void> {
  try {
    const redis = operator.usageRedis()
    await redisReady(redis, REDIS_WAIT_MS)
    await forgetRefusals(redis, company)
  } catch (error) {
    progress(`Requests stay in Redis until they expire, within 14 days: ${(error as Error).message}`)
  }
}

/** Returns the next line of the input, or an empty text if there is none. */
async function asked(question: string, { input, output }: Terminal): Promise<string> {
  output.write(question)
  for await (const line of createInterface({ input, terminal: false })) return line.trim()
  return ''
}
