import { z } from 'zod'
import { vendorId } from '../accounts/actor.ts'
import { ASSIGNABLE_ROLES } from '../accounts/people.ts'
import { instant } from '../http/instant.ts'
import { route } from '../http/route.ts'
import { Problem } from '../problems/problems.ts'
import { requireBuiltInAccounts } from '../sessions/access.ts'
import { type LinkNeeds, linkToken, requireLink } from '../sessions/link-token.ts'
import { findInvitation, INVITATION_LIFETIME_HOURS } from './invitations.ts'

/** For requireLink. */
export const INVITATION_LINK = {
  find: findInvitation,
  notValid: () =>
    new Problem(
      'invitation_not_valid',
      `The link was used, withdrawn or replaced, or is older than ${INVITATION_LIFETIME_HOURS} hours.`,
    ),
}

const PresentedToken = z.strictObject({ token: linkToken }).meta({ id: 'PresentedToken' })

const InvitationPreview = z
  .object({
    vendorId,
    companyName: z.string(),
    invitedBy: z.string().meta({ description: "The inviter's name." }),
    name: z.string().meta({ description: "The invited person's name, as the inviter wrote it." }),
    email: z.string(),
    role: z.enum(ASSIGNABLE_ROLES),
    expiresAt: instant,
  })
  .meta({ id: 'InvitationPreview' })

/** A POST, to keep the token out of URLs. It does not reveal whether the person has an account. */
export const previewInvitationRoute = route({
  method: 'post',
  path: '/v1/invitation/preview',
  operationId: 'previewInvitation',
  tag: 'Session',
  summary: 'Read an invitation before accepting it',
  description: 'Send the token from the link. Nothing changes.',
  access: requireBuiltInAccounts,
  body: PresentedToken,
  answers: { 200: { description: 'Who invites whom, and to what.', schema: InvitationPreview } },
  problems: ['invitation_not_valid', 'rate_limited', 'unavailable'],
  async handle({ body: { token } }, needs: LinkNeeds, ctx) {
    const invitation = await requireLink(ctx, needs, token, INVITATION_LINK)
    const { vendorId, companyName, invitedBy, name, email, role, expiresAt } = invitation
    return { vendorId, companyName, invitedBy, name, email, role, expiresAt: expiresAt.toISOString() }
  },
})
