import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { RateLimit } from '#shared/stores/rate-limit.ts'
import type { Manager } from '../http/manager.ts'
import type { Access, Route } from '../http/route.ts'
import type { AddressRule } from './address-verdict.ts'
import { getCallback } from './get-callback.ts'
import { patchCallback } from './patch-callback.ts'
import { postCallbackTest } from './post-callback-test.ts'
import type { Resolve } from './resolver.ts'
import type { TestSender } from './sender.ts'

export interface CallbackDependencies {
  db: Database
  clock: Clock
  manager: Access<Manager>
  resolve: Resolve
  judgeAddress: AddressRule
  sender: TestSender
  /** By company. */
  testLimit: RateLimit
}

export const createCallbackRoutes = (deps: CallbackDependencies): Route[] => [
  getCallback(deps),
  patchCallback(deps),
  postCallbackTest(deps),
]
