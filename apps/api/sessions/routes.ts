import type { Route } from '../http/route.ts'
import type { SessionDependencies } from './access.ts'
import { deleteOneSession } from './delete-one-session.ts'
import { deleteSession } from './delete-session.ts'
import { getSession } from './get-session.ts'
import { getSessions } from './get-sessions.ts'
import { configuredOpenid, type OpenidDependencies } from './openid-configured.ts'
import { createOpenidRoutes } from './openid-routes.ts'
import { type InvitationDependencies, postInvitation } from './post-invitation.ts'
import { postSession } from './post-session.ts'
import { previewInvitation } from './preview-invitation.ts'
import { putPassword } from './put-password.ts'

export const createSessionRoutes = (
  deps: InvitationDependencies & OpenidDependencies & SessionDependencies,
): Route[] => {
  const configured = configuredOpenid(deps)
  return [
    postSession(deps),
    getSession(deps),
    deleteSession({ ...deps, configured }),
    getSessions(deps),
    deleteOneSession(deps),
    putPassword(deps),
    postInvitation(deps),
    previewInvitation(deps),
    ...createOpenidRoutes(deps, configured),
  ]
}
