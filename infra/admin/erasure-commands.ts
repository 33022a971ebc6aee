import { record } from '#shared/accounts/activity.ts'
import { redisReady } from '#shared/stores/redis-ready.ts'
import { forgetRefusals } from '#shared/usage/refusals.ts'
import type { OperatorCommand, OperatorContext, Subject } from './commands.ts'
import { eraseCompany, erasePerson, findCompanyToErase, type Progress } from './erasure.ts'
import { exportPerson, findPerson } from './person-records.ts'

const REDIS_WAIT_MS = 5_000
const WHO = `
It takes an address, which may have several accounts, <vendor_id>:<address> for that company alone, or a user id.`

/** What privacy laws ask for. The runbook's page on privacy says what stays. */
export const PERSONS: Subject = {
  name: 'person',
  plural: 'people',
  description: 'What is stored about a person',
  commands: [
    {
      name: 'export',
      description: 'Print everything that is stored about a person, as JSON',
      example: 'person export kim@acme.example',
      args: ['address'],
      explanation: WHO,
      async run({ db, by }, { address }: { address: string }) {
        const person = await findPerson(db, address)
        for (const userId of person.ids) await record(db, { vendorId: null, by }, 'person.exported', userId)
        const data = await exportPerson(db, person)
        return { text: JSON.stringify(data, null, 2), data }
      },
    },
    {
      name: 'erase',
      description:
        'Erase what is stored about a person, permanently. All access ends at once. An owner must hand over first.',
      example: 'person erase kim@acme.example',
      args: ['address'],
      explanation: WHO,
      async effect({ db }, { address }: { address: string }) {
        const { ids, invitations, entries } = await findPerson(db, address)
        const companies = new Set([...invitations, ...entries].map(({ vendorId }) => vendorId))
        companies.delete(null)
        const known = companies.size > 0 ? `, known to ${[...companies].join(', ')},` : ''
        return `${ids.join(', ')}${known} will be erased permanently. All access ends at once.`
      },
      async run({ db, by }, { address }: { address: string }) {
        const erased = await erasePerson(db, { given: address, by })
        const { userIds, entries } = erased
        return {
          text: `Erased: ${userIds.join(', ')}; ${entries} entries of the activity have no name any more.`,
          data: erased,
        }
      },
    },
  ],
}

export const COMPANY_ERASE: OperatorCommand = {
  name: 'erase',
  description:
    'Erase a company with all its data, permanently. Its clients are revoked first. Repeat it if it was interrupted.',
  example: 'company erase ven_acme',
  args: ['vendor_id'],
  async effect({ db }, { vendorId }: { vendorId: string }) {
    const { name, people, clients } = await findCompanyToErase(db, vendorId)
    return `${vendorId} (${name}) will be erased permanently, with all its data: ${people} people lose access, and ${clients} Active clients are revoked.`
  },
  async run(context, { vendorId }: { vendorId: string }) {
    const { db, by, stderr } = context
    await findCompanyToErase(db, vendorId)
    const progress = (sentence: string) => void stderr.write(`${sentence}\n`)
    const erased = await eraseCompany(
      // Without Redis nothing can be revoked, so nothing begins.
      { db, revocation: context.revocation() },
      {
        vendorId,
        by,
        progress,
        forget: (clientIds) => forgetInRedis(context, { vendorId, clientIds }, progress),
      },
    )
    const { clients, people, rows } = erased
    return {
      text: `${vendorId} is erased: ${people} people, ${clients} Active clients, ${rows} rows.`,
      data: { vendorId, ...erased },
    }
  },
}

/** Requests expire within two weeks, so an absent Redis stops nothing. */
async function forgetInRedis(
  context: OperatorContext,
  company: { vendorId: string; clientIds: string[] },
  progress: Progress,
): Promise<void> {
  try {
    const redis = context.usageRedis()
    await redisReady(redis, REDIS_WAIT_MS)
    await forgetRefusals(redis, company)
  } catch (error) {
    progress(`Requests stay in Redis until they expire, within 14 days: ${(error as Error).message}`)
  }
}
