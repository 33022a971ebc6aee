import { route } from '../http/route.ts'
import { builtIn } from '../sessions/built-in.ts'
import { InvitationPreview, PresentedToken } from '../sessions/schemas.ts'
import { type InvitationNeeds, presentedInvitation } from './presented-invitation.ts'

/** A POST, to keep the token out of URLs. It does not reveal whether the person has an account. */
export const previewInvitationRoute = route({
  method: 'post',
  path: '/v1/invitation/preview',
  operationId: 'previewInvitation',
  tag: 'Session',
  summary: 'Read an invitation before accepting it',
  description: 'Send the token from the link. Nothing changes.',
  by: builtIn,
  body: PresentedToken,
  answers: { 200: { description: 'Who invites whom, and to what.', schema: InvitationPreview } },
  problems: ['invitation_not_valid', 'rate_limited', 'unavailable'],
  async handle({ body: { token } }, needs: InvitationNeeds, ctx) {
    const invitation = await presentedInvitation(ctx, needs, token)
    const { vendorId, companyName, invitedBy, name, email, role, expiresAt } = invitation
    return { vendorId, companyName, invitedBy, name, email, role, expiresAt: expiresAt.toISOString() }
  },
})
