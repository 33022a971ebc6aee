/** The rows of "When something fails" that this trial does not cause, by how they begin, and why. */
export const ELSEWHERE: Record<string, string> = {
  'Redis is gone':
    '`test/revocation/model.test.ts` causes each of these, and waits until Redis is trusted again.',
  'the Redis or the cluster of RATE_REDIS_URL':
    '`test/shared/redis-cluster.test.ts` has a server of it stop and all be killed, and the services go on.',
  'the wall clock of an instance of the API':
    '`test/api/unavailable.test.ts` starts one whose clock is wrong; `test/revocation/clocks.test.ts` sets it.',
  'the wall clocks of two authorization servers':
    '`test/shared/revocation-feed.test.ts` has pages of both, and a service that restarts.',
  'no instance of a service is up':
    '`npm run test:proxies` stops every instance behind nginx; the starts of this trial are the cure.',
  'Postgres is gone':
    '`test/revocation/model.test.ts` takes it away and restores it; `npm run test:stores` promotes a standby.',
  'a standby was promoted':
    'Several million revocations cannot be made here. `test/revocation/round.test.ts` has a comparison that takes too long, and `npm run test:stores` a promotion that is fenced and confirmed.',
  'the OpenID provider is gone': '`test/api/openid-provider.test.ts` has providers that do not answer.',
}
