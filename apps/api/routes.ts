import { listActivityRoute } from './activity/list-activity.ts'
import { readDailyInWorkspaceRoute, readDailyRoute } from './analytics/read-daily.ts'
import { reportEventsRoute } from './analytics/report-events.ts'
import { readCallbackRoute } from './callbacks/read-callback.ts'
import { saveCallbackRoute } from './callbacks/save-callback.ts'
import { sendTestEventRoute } from './callbacks/send-test-event.ts'
import { createClientRoute } from './clients/create-client.ts'
import { listClientsRoute } from './clients/list-clients.ts'
import { readClientRoute } from './clients/read-client.ts'
import { readUsageRoute } from './clients/read-usage.ts'
import { renameClientRoute } from './clients/rename-client.ts'
import { revokeClientRoute } from './clients/revoke-client.ts'
import type { ApiDocument } from './discovery/openapi/document-shape.ts'
import { describeRoutes } from './discovery/routes.ts'
import { reportFoundSecretsRoute } from './found-secrets/report-found-secrets.ts'
import { acceptInvitationRoute } from './people/accept-invitation.ts'
import { changePersonRoute } from './people/change-person.ts'
import { invitePersonRoute } from './people/invite-person.ts'
import { listPeopleRoute } from './people/list-people.ts'
import { previewInvitationRoute } from './people/preview-invitation.ts'
import { removePersonRoute } from './people/remove-person.ts'
import { explainRefusalRoute } from './refusals/explain-refusal.ts'
import { listRefusalsRoute } from './refusals/list-refusals.ts'
import { listRequestsRoute } from './refusals/list-requests.ts'
import { readRotationRoute } from './rotation/read-rotation.ts'
import { changePasswordRoute } from './sessions/change-password.ts'
import { confirmPasswordResetRoute } from './sessions/confirm-password-reset.ts'
import { endSessionRoute } from './sessions/end-session.ts'
import { listSessionsRoute } from './sessions/list-sessions.ts'
import { readSessionRoute } from './sessions/read-session.ts'
import { requestPasswordResetRoute } from './sessions/request-password-reset.ts'
import { signInRoute } from './sessions/sign-in.ts'
import { signOutRoute } from './sessions/sign-out.ts'
import { beginOpenidSignInRoute } from './sign-in-openid/begin-sign-in.ts'
import { finishOpenidSignInRoute } from './sign-in-openid/finish-sign-in.ts'
import { readSignInMethodsRoute } from './sign-in-openid/read-sign-in-methods.ts'
import { listIssuersRoute } from './workload/list-issuers.ts'
import { replaceIssuerKeysRoute } from './workload/replace-issuer-keys.ts'

/** Every route, in the order of the published document. Routes can be described without a running service. */
export const ROUTES = [
  readDailyRoute,
  reportEventsRoute,
  readDailyInWorkspaceRoute,
  signInRoute,
  readSessionRoute,
  signOutRoute,
  listSessionsRoute,
  endSessionRoute,
  changePasswordRoute,
  requestPasswordResetRoute,
  confirmPasswordResetRoute,
  acceptInvitationRoute,
  previewInvitationRoute,
  readSignInMethodsRoute,
  beginOpenidSignInRoute,
  finishOpenidSignInRoute,
  listClientsRoute,
  createClientRoute,
  readClientRoute,
  renameClientRoute,
  readUsageRoute,
  readRotationRoute,
  revokeClientRoute,
  listIssuersRoute,
  replaceIssuerKeysRoute,
  reportFoundSecretsRoute,
  readCallbackRoute,
  saveCallbackRoute,
  sendTestEventRoute,
  listActivityRoute,
  listPeopleRoute,
  invitePersonRoute,
  changePersonRoute,
  removePersonRoute,
  listRefusalsRoute,
  explainRefusalRoute,
  listRequestsRoute,
]

/** Returns the OpenAPI document. */
export const describeApi = (settings: { issuer: string; apiResource: string }): ApiDocument =>
  describeRoutes({ ...settings, routes: ROUTES })
