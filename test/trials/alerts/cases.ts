/** Samples a minute apart, in promtool's notation: `0+60x180` grows by 60 a minute for three hours. */
export type Scraped = Record<string, string>

interface AlertCase {
  alert: string
  fires: Scraped
  /** The labels of the alert, besides its severity, as Prometheus writes them. */
  labels?: string
  /** The closest case that must not fire the alert. */
  quiet: Scraped
}

const TOKEN = 'route="/v1/oauth/token",method="POST"'
const DAILY = 'route="/v1/analytics/:vendorId/daily",method="GET"'
const COUNT = 'integration_http_request_duration_seconds_count'
const BUCKET = 'integration_http_request_duration_seconds_bucket'
const AUTH = 'job="integration-auth",instance="a"'
const OTHER_AUTH = 'job="integration-auth",instance="d"'
const OFFSET = 'integration_clock_offset_seconds'
const API = 'job="integration-api",instance="b"'
const OTHER_API = 'job="integration-api",instance="c"'
const KEYS = 'integration_signing_keys'
const PAGE = 'integration_revocations_page_bytes'
const MAIL_WAITS = 'integration_mail_oldest_waiting_seconds'
const MAIL_GIVEN_UP = 'integration_mails_given_up_total'
const AGE = 'integration_revocation_round_age_seconds'

const FIRST_FAILURES = Object.fromEntries(
  Array.from({ length: 30 }, (_, n) => [
    `${COUNT}{${API},route="/v1/${n}",status="500"}`,
    `_x${n + 125} 1x40`,
  ]),
)

export const ALERT_CASES: readonly AlertCase[] = [
  {
    alert: 'IntegrationServiceDown',
    fires: { [`up{${AUTH}}`]: '0x180', [`up{${API}}`]: '1x180' },
    labels: AUTH,
    quiet: { [`up{${AUTH}}`]: '1x180', [`up{${API}}`]: '1x180', 'up{job="other"}': '0x180' },
  },
  {
    alert: 'IntegrationServiceUnknown',
    fires: { [`up{${AUTH}}`]: '1x180' },
    labels: 'job="integration-api"',
    quiet: { [`up{${AUTH}}`]: '0x180', [`up{${API}}`]: '1x180' },
  },
  {
    alert: 'IntegrationNotReady',
    fires: { [`integration_ready{${AUTH}}`]: '0x180', [`integration_ready{${API}}`]: '1x180' },
    labels: AUTH,
    quiet: { [`integration_ready{${AUTH}}`]: '1x180' },
  },
  {
    alert: 'IntegrationFenced',
    fires: { [`integration_fenced{${API}}`]: '1x180', [`integration_fenced{${OTHER_API}}`]: '0x180' },
    quiet: { [`integration_fenced{${API}}`]: '0x180' },
  },
  {
    alert: 'IntegrationReadOnly',
    fires: { [`integration_degraded{${API},without="read-only"}`]: '1x180' },
    quiet: { [`integration_degraded{${API},without="redis"}`]: '1x180' },
  },
  {
    alert: 'IntegrationClockOff',
    fires: { [`${OFFSET}{${AUTH},store="redis"}`]: '-60.1x180' },
    labels: AUTH,
    quiet: {
      [`${OFFSET}{${AUTH},store="redis"}`]: '60x180',
      [`integration_degraded{${API},without="clocks"}`]: '0x180',
    },
  },
  {
    alert: 'IntegrationClockOff',
    fires: {
      [`${OFFSET}{${AUTH},store="redis"}`]: '4.1x180',
      [`${OFFSET}{${OTHER_AUTH},store="redis"}`]: '-4x180',
    },
    // Two stores that differ are no two servers that do.
    quiet: {
      [`${OFFSET}{${AUTH},store="redis"}`]: '8x180',
      [`${OFFSET}{${OTHER_AUTH},store="redis"}`]: '0x180',
      [`${OFFSET}{${AUTH},store="postgres"}`]: '-4x180',
    },
  },
  {
    alert: 'IntegrationClockOff',
    fires: { [`integration_degraded{${API},without="clocks"}`]: '1x180' },
    labels: API,
    quiet: { [`integration_degraded{${API},without="redis"}`]: '1x180' },
  },
  {
    alert: 'IntegrationClockDrifts',
    fires: { [`${OFFSET}{${AUTH},store="redis"}`]: '-4.1x180' },
    labels: AUTH,
    quiet: { [`${OFFSET}{${AUTH},store="redis"}`]: '4x180' },
  },
  {
    alert: 'IntegrationTokenErrors',
    fires: {
      [`${COUNT}{${TOKEN},status="503"}`]: '0+2x180',
      [`${COUNT}{${TOKEN},status="200"}`]: '0+98x180',
    },
    quiet: {
      [`${COUNT}{${TOKEN},status="401"}`]: '0+90x180',
      [`${COUNT}{${TOKEN},status="200"}`]: '0+98x180',
      [`${COUNT}{route="/v1/oauth/jwks",status="500"}`]: '0+90x180',
    },
  },
  {
    alert: 'IntegrationApiErrors',
    fires: {
      [`${COUNT}{${API},${DAILY},status="500"}`]: '0+2x180',
      [`${COUNT}{${API},${DAILY},status="200"}`]: '0+98x180',
    },
    quiet: {
      [`${COUNT}{${AUTH},${TOKEN},status="503"}`]: '0+90x180',
      [`${COUNT}{${API},${DAILY},status="200"}`]: '0+98x180',
    },
  },
  // Each minute another route answers its first 500, which a rate does not see.
  {
    alert: 'IntegrationApiErrors',
    fires: { ...FIRST_FAILURES, [`${COUNT}{${API},${DAILY},status="200"}`]: '0+90x180' },
    quiet: { ...FIRST_FAILURES, [`${COUNT}{${API},${DAILY},status="200"}`]: '0+110x180' },
  },
  // A Prometheus that has just begun sees the errors of weeks, and the requests.
  {
    alert: 'IntegrationApiErrors',
    fires: {
      [`${COUNT}{${API},${DAILY},status="500"}`]: '_x140 900+2x39',
      [`${COUNT}{${API},${DAILY},status="200"}`]: '_x140 90000+98x39',
    },
    quiet: {
      [`${COUNT}{${API},${DAILY},status="500"}`]: '_x140 900x39',
      [`${COUNT}{${API},${DAILY},status="200"}`]: '_x140 90001+98x39',
    },
  },
  {
    alert: 'IntegrationTokenErrors',
    fires: {
      [`${COUNT}{${TOKEN},status="503"}`]: '_x143 9x36',
      [`${COUNT}{${TOKEN},status="500"}`]: '_x146 9x33',
      [`${COUNT}{${TOKEN},status="200"}`]: '0+98x180',
    },
    quiet: {
      [`${COUNT}{${TOKEN},status="503"}`]: '_x143 4x36',
      [`${COUNT}{${TOKEN},status="500"}`]: '_x146 4x33',
      [`${COUNT}{${TOKEN},status="200"}`]: '0+98x180',
    },
  },
  {
    alert: 'IntegrationSlow',
    fires: {
      [`${BUCKET}{${DAILY},le="1"}`]: '0+90x180',
      [`${BUCKET}{${DAILY},le="2.5"}`]: '0+100x180',
      [`${BUCKET}{${DAILY},le="+Inf"}`]: '0+100x180',
    },
    labels: 'route="/v1/analytics/:vendorId/daily"',
    quiet: { [`${BUCKET}{${TOKEN},le="1"}`]: '0+100x180', [`${BUCKET}{${TOKEN},le="+Inf"}`]: '0+100x180' },
  },
  {
    alert: 'IntegrationUndecided',
    fires: { [`integration_revocation_decisions_total{${AUTH},by="neither"}`]: '0+1x180' },
    quiet: {
      [`integration_revocation_decisions_total{${AUTH},by="neither"}`]: '5x180',
      [`integration_revocation_decisions_total{${AUTH},by="postgres"}`]: '0+9x180',
    },
  },
  {
    alert: 'IntegrationRedisUnusable',
    fires: {
      [`integration_redis_usable{${API},redis="redis"}`]: '0x180',
      [`integration_redis_usable{${OTHER_API},redis="redis"}`]: '1x180',
    },
    labels: 'job="integration-api",redis="redis"',
    quiet: { [`integration_redis_usable{${API},redis="redis"}`]: '1x180' },
  },
  {
    alert: 'IntegrationRedisNotTrusted',
    fires: {
      [`integration_redis_trusted{${API}}`]: '0x180',
      [`integration_redis_trusted{${OTHER_API}}`]: '1x180',
    },
    labels: 'job="integration-api"',
    quiet: { [`integration_redis_trusted{${API}}`]: '1x180' },
  },
  {
    alert: 'IntegrationRoundsStand',
    fires: { [`${AGE}{${API}}`]: '31x180', [`${AGE}{${OTHER_API}}`]: '32x180' },
    quiet: { [`${AGE}{${API}}`]: '99x180', [`${AGE}{${OTHER_API}}`]: '29x180' },
  },
  { alert: 'IntegrationRoundsStand', fires: {}, quiet: { [`${AGE}{${API}}`]: '1x180' } },
  {
    alert: 'IntegrationPoolExhausted',
    fires: { [`integration_postgres_connections{${API},pool="workspace",state="waiting"}`]: '1x180' },
    labels: 'job="integration-api",pool="workspace"',
    quiet: { [`integration_postgres_connections{${API},pool="workspace",state="used"}`]: '9x180' },
  },
  {
    alert: 'IntegrationNoSigningKey',
    fires: { [`${KEYS}{${AUTH},state="active"}`]: '0x180', [`${KEYS}{${AUTH},state="standby"}`]: '1x180' },
    quiet: { [`${KEYS}{${AUTH},state="active"}`]: '1x180' },
  },
  // A process that has no key yet has no such series. absent() gives the labels that it looked for.
  {
    alert: 'IntegrationNoSigningKey',
    fires: {},
    labels: 'state="active"',
    quiet: { [`${KEYS}{${AUTH},state="active"}`]: '1x180' },
  },
  {
    alert: 'IntegrationSigningKeyOld',
    fires: { [`integration_signing_key_age_seconds{${AUTH},state="active"}`]: '7776001x180' },
    quiet: { [`integration_signing_key_age_seconds{${AUTH},state="active"}`]: '7775999x180' },
  },
  {
    alert: 'IntegrationEventLoopLag',
    fires: { [`nodejs_eventloop_lag_p99_seconds{${API}}`]: '0.21x180' },
    labels: API,
    quiet: { [`nodejs_eventloop_lag_p99_seconds{${API}}`]: '0.19x180' },
  },
  {
    alert: 'IntegrationWrongSecrets',
    fires: {
      'integration_oauth_refusals_total{reason="wrong_secret"}': '0+200x180',
      'integration_oauth_refusals_total{reason="unknown_client"}': '0+200x180',
    },
    quiet: { 'integration_oauth_refusals_total{reason="revoked_client"}': '0+900x180' },
  },
  // One address at twice its limit of 300 a minute.
  {
    alert: 'IntegrationWrongSecrets',
    fires: {
      'integration_oauth_refusals_total{reason="wrong_secret"}': '0+300x180',
      'integration_oauth_refusals_total{reason="failures_of_address"}': '0+300x180',
    },
    quiet: { 'integration_oauth_refusals_total{reason="wrong_secret"}': '0+300x180' },
  },
  {
    alert: 'IntegrationSecretFound',
    fires: { [`integration_found_secrets_total{${API}}`]: '0x120 1x59' },
    quiet: { [`integration_found_secrets_total{${API}}`]: '3x180' },
  },
  {
    alert: 'IntegrationSecretReportsLost',
    fires: { [`integration_found_secret_reports_lost_total{${API},reason="busy"}`]: '0x120 1x59' },
    quiet: { [`integration_found_secret_reports_lost_total{${API},reason="busy"}`]: '3x180' },
  },
  {
    alert: 'IntegrationMailNotSent',
    fires: { [`${MAIL_WAITS}{${API}}`]: '0x140 901x39', [`${MAIL_WAITS}{${OTHER_API}}`]: '0x140 901x39' },
    quiet: {
      [`${MAIL_WAITS}{${API}}`]: '900x180',
      [`${MAIL_GIVEN_UP}{${API},kind="secret_found"}`]: '2x180',
    },
  },
  {
    alert: 'IntegrationMailNotSent',
    fires: { [`${MAIL_GIVEN_UP}{${API},kind="secret_found"}`]: '0x120 1x59' },
    quiet: {
      [`${MAIL_WAITS}{${API}}`]: '0x140 901x39',
      'integration_mails_sent_total{kind="clients_expire"}': '0+9x180',
    },
  },
  {
    alert: 'IntegrationIssuerKeysOld',
    fires: {
      [`integration_workload_issuers_failing{${API}}`]: '0x140 1x39',
      [`integration_workload_issuers_failing{${OTHER_API}}`]: '0x180',
    },
    quiet: { [`integration_workload_issuers_failing{${API}}`]: '1x140 0x39' },
  },
  {
    alert: 'IntegrationRevocationsPageLarge',
    fires: {
      [`${PAGE}{${API},list="tokens"}`]: '200000x180',
      [`${PAGE}{${API},list="clients"}`]: '62145x180',
    },
    quiet: {
      [`${PAGE}{${API},list="tokens"}`]: '131072x180',
      [`${PAGE}{${OTHER_API},list="tokens"}`]: '131072x180',
      [`${PAGE}{${API},list="clients"}`]: '131072x180',
    },
  },
  {
    alert: 'IntegrationPurgesLate',
    fires: {
      [`integration_purge_overdue_seconds{${API},kind="sessions"}`]: '90000x180',
      [`integration_purge_overdue_seconds{${OTHER_API},kind="sessions"}`]: '90000x180',
      [`integration_purge_overdue_seconds{${API},kind="invitations"}`]: '600x180',
    },
    labels: 'kind="sessions"',
    quiet: { [`integration_purge_overdue_seconds{${API},kind="sessions"}`]: '80000x180' },
  },
  {
    alert: 'IntegrationPurgesLate',
    fires: { [`up{${API}}`]: '1x180' },
    quiet: { [`integration_purge_overdue_seconds{${API},kind="sessions"}`]: '0x180' },
  },
  {
    alert: 'IntegrationLimitsHit',
    fires: { [`integration_rate_limit_hits_total{${API},limit="api-client"}`]: '0+61x180' },
    labels: 'limit="api-client"',
    quiet: { [`integration_rate_limit_hits_total{${API},limit="api-client"}`]: '0+59x180' },
  },
  {
    alert: 'IntegrationVersionsDiffer',
    fires: {
      'integration_build_info{service="api",version="1"}': '1x180',
      'integration_build_info{service="api",version="2"}': '1x180',
    },
    labels: 'service="api"',
    quiet: {
      'integration_build_info{service="api",version="2"}': '1x180',
      'integration_build_info{service="auth",version="1"}': '1x180',
    },
  },
]
