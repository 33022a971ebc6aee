import { Problem } from '../problems/problems.ts'
import { findInvitation, INVITATION_LIFETIME_HOURS } from './invitations.ts'

export const invitationNotValid = (): Problem =>
  new Problem(
    'invitation_not_valid',
    `The link was used, withdrawn or replaced, or is older than ${INVITATION_LIFETIME_HOURS} hours.`,
  )

/** For requireLink. */
export const INVITATION_LINK = { find: findInvitation, notValid: invitationNotValid }
