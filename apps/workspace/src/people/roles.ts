import type { Role } from '../api/contract.ts'
import { type ErrorWords, NO_ANSWER } from '../ui/submit.ts'

/** What each role may do, in the order of what it allows. */
export const ROLES: readonly { role: Role; name: string; may: string }[] = [
  {
    role: 'owner',
    name: 'Owner',
    may: 'Does everything an admin does, and manages people. A company has exactly one owner.',
  },
  {
    role: 'admin',
    name: 'Admin',
    may: 'Creates, rotates and revokes clients, sets the callback URL, and sees analytics, activity and people.',
  },
  {
    role: 'member',
    name: 'Member',
    may: 'Belongs to the company, but sees nothing until promoted to admin.',
  },
]

export const roleWords = (role: Role) => ROLES.find((each) => each.role === role) as (typeof ROLES)[number]

/** Why a change of the people failed. */
export const PEOPLE_ERRORS: ErrorWords = {
  title: 'Nothing was changed',
  noAnswer: NO_ANSWER,
  404: { title: 'This person is no longer here', text: 'Close this to see the people as they are now.' },
}
