import type { BlockList } from 'node:net'
import Koa from 'koa'
import type { Clock } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'
import type { Database } from '#shared/postgres.ts'
import type { Redis } from '#shared/redis.ts'
import { createManagerMiddleware } from './http/manager.ts'
import { createProblemMiddleware } from './http/problem.ts'
import { createRequestMiddleware } from './http/request.ts'
import { createUnmatchedMiddleware } from './http/routes.ts'
import type { ApiRouter, ApiState } from './http/state.ts'
import { createSessionMiddleware } from './sessions/middleware.ts'

export interface ApiDependencies {
  settings: { apiResource: string; trustedProxies: BlockList }
  log: Log
  clock: Clock
  db: Database
  redis: Redis
}

/** The resource API as one Koa application: every middleware and route in the order in which they are tried. */
export function createApi({ settings, log, clock, db, redis }: ApiDependencies): Koa<ApiState> {
  const session = createSessionMiddleware({ db, clock })
  const manager = createManagerMiddleware({ session, db })

  const routers: ApiRouter[] = [
    // createCallbackRoutes({ db, clock, redis, manager, … }),
  ]
  void manager
  void redis

  const app = new Koa<ApiState>()
  app.use(createRequestMiddleware({ log, trustedProxies: settings.trustedProxies }))
  app.use(createProblemMiddleware({ apiResource: settings.apiResource }))
  for (const router of routers) app.use(router.routes() as Koa.Middleware<ApiState>)
  app.use(createUnmatchedMiddleware(routers))
  app.on('error', (error: Error) => log.debug({ error: error.message }, 'an answer could not be sent'))
  return app
}
