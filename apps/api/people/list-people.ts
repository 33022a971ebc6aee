import { z } from 'zod'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { COMPANY_ROLES, listMembers } from '../accounts/people.ts'
import { nextCursor, page, pageParameters } from '../http/page.ts'
import { route } from '../http/route.ts'
import { readMailProgress } from '../mail/outbox.ts'
import { canRead } from './access.ts'
import { EXPIRED_LISTED_DAYS, EXPIRED_LISTED_MS, listInvitations } from './invitations.ts'
import { invitationAnswer, memberAnswer, PersonAnswer } from './person.ts'

const PersonPage = z.object({ people: z.array(PersonAnswer), nextCursor }).meta({ id: 'PersonPage' })

/** Those invited come after everyone with a role. */
const INVITED_RANK = COMPANY_ROLES.length

const PeopleQuery = z.strictObject(
  pageParameters(z.tuple([z.int().min(0).max(INVITED_RANK), z.string(), z.string().max(64)])),
)

type Position = [rank: number, name: string, userId: string]

export const listPeopleRoute = route({
  method: 'get',
  path: '/v1/vendor/:vendorId/people',
  operationId: 'listPeople',
  tag: 'People',
  summary: 'List the people of a company',
  description:
    'The owner, admins, viewers and members, then those invited, ' +
    `for ${EXPIRED_LISTED_DAYS} days after their invitation expired. Each group is sorted by name.`,
  access: canRead,
  query: PeopleQuery,
  answers: { 200: { description: 'A page of people.', schema: PersonPage } },
  async handle({ vendorId, query: { limit, cursor } }, { db, clock }: { db: Database; clock: Clock }) {
    const [members, invitations] = await Promise.all([
      listMembers(db, vendorId),
      listInvitations(db, { vendorId, now: new Date(clock.now() - EXPIRED_LISTED_MS) }),
    ])
    const userIds = invitations.map(({ userId }) => userId)
    const progress = await readMailProgress(db, 'invitation', { vendorId, userIds })
    const mails = new Map(progress.map((mail) => [mail.userId, mail]))
    const invited = invitations.map((invitation) =>
      invitationAnswer(invitation, mails.get(invitation.userId)),
    )
    const people = [...members.map(memberAnswer), ...invited]
      .filter((person) => !cursor || compare(position(person), cursor) > 0)
      .sort((a, b) => compare(position(a), position(b)))
    const { rows, nextCursor } = page(people.slice(0, limit + 1), limit, position)
    return { people: [...rows], nextCursor }
  },
})

const position = ({ role, status, name, userId }: PersonAnswer): Position => [
  status === 'invited' ? INVITED_RANK : COMPANY_ROLES.indexOf(role),
  name,
  userId,
]

function compare(a: Position, b: Position): number {
  const different = ([0, 1, 2] as const).find((index) => a[index] !== b[index])
  if (different === undefined) return 0
  return (a[different] as string) < (b[different] as string) ? -1 : 1
}
