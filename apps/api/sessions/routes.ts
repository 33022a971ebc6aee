import type { Route } from '../http/route.ts'
import { deleteOneSession } from './delete-one-session.ts'
import { deleteSession } from './delete-session.ts'
import type { SessionDependencies } from './dependencies.ts'
import { getSession } from './get-session.ts'
import { getSessions } from './get-sessions.ts'
import { createOpenidRoutes } from './openid-routes.ts'
import { postInvitation } from './post-invitation.ts'
import { postSession } from './post-session.ts'
import { previewInvitation } from './preview-invitation.ts'
import { putPassword } from './put-password.ts'

export const createSessionRoutes = (deps: SessionDependencies): Route[] => [
  postSession(deps),
  getSession(deps),
  deleteSession(deps),
  getSessions(deps),
  deleteOneSession(deps),
  putPassword(deps),
  postInvitation(deps),
  previewInvitation(deps),
  ...createOpenidRoutes(deps),
]
