import type { InvitationPreview } from './contract.ts'
import { request } from './request.ts'

/** @throws ApiProblem `invitation_not_valid` or `rate_limited`, or NoAnswer. */
export const previewInvitation = (token: string, signal: AbortSignal): Promise<InvitationPreview> =>
  request<InvitationPreview>('/v1/invitation/preview', { method: 'POST', body: { token }, signal })
