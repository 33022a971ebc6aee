import { type Route, route } from '../http/route.ts'
import type { SessionDependencies } from './dependencies.ts'
import { presentedInvitation } from './presented-invitation.ts'
import { InvitationPreview, PresentedToken } from './schemas.ts'

/** A POST, to keep the token out of URLs. It does not reveal whether the person has an account. */
export const previewInvitation = (deps: SessionDependencies): Route =>
  route({
    method: 'post',
    path: '/v1/invitation/preview',
    operationId: 'previewInvitation',
    tag: 'Session',
    summary: 'Read an invitation before accepting it',
    description: 'Send the token from the link. Nothing changes.',
    by: deps.builtIn,
    body: PresentedToken,
    answers: { 200: { description: 'Who invites whom, and to what.', schema: InvitationPreview } },
    problems: ['invitation_not_valid', 'rate_limited', 'unavailable'],
    async handle({ body: { token } }, ctx) {
      const invitation = await presentedInvitation(ctx, deps, token)
      const { vendorId, companyName, invitedBy, name, email, role, expiresAt } = invitation
      return { vendorId, companyName, invitedBy, name, email, role, expiresAt: expiresAt.toISOString() }
    },
  })
