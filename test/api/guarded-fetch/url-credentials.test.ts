import assert from 'node:assert/strict'
import { createAddressRule } from '../../../apps/api/guarded-fetch/address-verdict.ts'
import { checkPublicUrl } from '../../../apps/api/guarded-fetch/url-verdict.ts'

const HEX = '9f86d081884c7d659a2feaa0c55ad015'
const RANDOM = '4eC39HqLyjWDarjtT1zdp7dcXq8Zm2RvTy6Bn0Pw'
const UUID = '3f2b8c1e-7d4a-4b5e-9f60-1a2b3c4d5e6f'
const AZURE_WORKFLOW =
  'prod-26.uksouth.logic.azure.com:443/workflows/852a3c17/triggers/manual/paths/invoke?api-version=2016-06-01'

/** What services print as the address of a receiver, and where the credential is. */
const WITH_CREDENTIAL: [service: string, url: string][] = [
  ['Power Automate', `${AZURE_WORKFLOW}&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=${RANDOM}`],
  ['Azure Functions', `acme.azurewebsites.net/api/hook?code=${RANDOM}==`],
  ['Azure Functions, with a key of the user', 'acme.azurewebsites.net/api/hook?code=my-R4nd0mCode=='],
  ['Azure Storage (SAS)', `acme.blob.core.windows.net/in?sv=2022-11-02&se=2026-12-01&sr=b&sig=${RANDOM}%3D`],
  ['Azure Event Grid', 'acme.westeurope-1.eventgrid.azure.net/api/events?aeg-sas-key=x'],
  ['DingTalk, signed', `oapi.dingtalk.com/robot/send?timestamp=1577262236757&sign=${RANDOM}%3D`],
  ['HubSpot', `api.hubapi.com/webhooks?hapikey=${UUID}`],
  ['a password of the database', 'hooks.acme.com/?dbpass=x'],
  ['short names of a password', 'hooks.acme.com/?psw=x'],
  ['a code of a second factor', 'hooks.acme.com/?totp=x'],
  ['a key of an unknown kind', `hooks.acme.com/?projectkey=${RANDOM}`],
  ['a session of a kind', `hooks.acme.com/?crm_session=${RANDOM}`],
  ['a token of an environment', `hooks.acme.com/?token_prod=${RANDOM}`],
  ['a secret for a purpose', `hooks.acme.com/?secret_for_orders=${HEX}`],
  ['a code of access', `hooks.acme.com/?access_code=${HEX}`],
  ['a version of a signature', 'hooks.acme.com/?signature_v2=x'],
  ['a value of a token', 'hooks.acme.com/?token_value=x'],
  ['a parameter of the path', 'hooks.acme.com/events;jsessionid=x'],
  ['a parameter in the middle of the path', 'hooks.acme.com/a;v=1;token=x/events'],
]

const WITH_SECRET: [kind: string, url: string][] = [
  ['OpenAI project key', `hooks.acme.com/sk-proj-${RANDOM}`],
  ['key behind a slug', `hooks.acme.com/sk-bratislava-warehouse-events/sk-${RANDOM}`],
  ['key whose first part is a slug', `hooks.acme.com/sk-bratislava-events-${RANDOM}`],
  ['key as a UUID', `hooks.acme.com/sk-${UUID}`],
  ['AWS access key id without a digit', 'hooks.acme.com/AKIAIOSFODNNZEXAMPLE'],
  ['JWE without a key of its own', `hooks.acme.com/eyJhbGciOiJkaXIifQ..${RANDOM}.${RANDOM}.${RANDOM}`],
  ['GitLab token', 'hooks.acme.com/glpat-aBcDeFgH-jKlMnOpQrSt'],
]

/** Opaque paths, words in a path, and parameters that only look like credentials. */
const HARMLESS: [kind: string, url: string][] = [
  ['Teams connector', `acme.webhook.office.com/webhookb2/${UUID}@${UUID}/IncomingWebhook/${HEX}/${UUID}`],
  ['IFTTT', `maker.ifttt.com/trigger/orders/with/key/${RANDOM}`],
  ['Mattermost', 'chat.acme.com/hooks/xxx-generatedkey-xxx'],
  ['Apps Script', `script.google.com/macros/s/AKfycb${RANDOM}/exec`],
  ['slug', 'hooks.acme.com/sk-bratislava-warehouse-events'],
  ['slug with an id', 'hooks.acme.com/sk-bratislava-3f2b8c1e-events'],
  ['slug in capitals', 'hooks.acme.com/sk-Bratislava-Warehouse-EVENTS'],
  ['slug after a word', 'hooks.acme.com/task-sk-risk-desk-brief-checks'],
  ['slug like a token of Slack', 'hooks.acme.com/xoxo-gossip/xoxb-warehouse-events'],
  ['slug like a token of GitLab', 'hooks.acme.com/glpat-warehouse-events-for-orders'],
  ['slug like a token of PyPI', `hooks.acme.com/pypi-${'mirror-of-packages-'.repeat(3)}events`],
  ['slug like a key of SendGrid', 'hooks.acme.com/SG.singapore-warehouse.incoming-order-events'],
  ['slug like a key of Stripe', 'hooks.acme.com/sk_test_warehouseorderevents'],
  ['words in the path', 'hooks.acme.com/token-service/api-keys/apikeys/password-reset/signature/secret/v1'],
  ['key and value in the path', 'hooks.acme.com/key=orders/events'],
  ['parameter of the path', 'hooks.acme.com/events;v=1;lang=de'],
  ['pass_through', 'hooks.acme.com/?pass_through=orders'],
  ['URL to pass through', 'hooks.acme.com/?pass_through=https://acme.com/orders/2'],
  ['time of a session', 'a.com/?session_start=2026-11-28T10:00:00.5Z&auth_time=2026-11-28T11:00:00%2B01:00'],
  ['bypass', 'hooks.acme.com/?bypass=cache'],
  ['boarding pass', 'hooks.acme.com/?boarding_pass=economy'],
  ['keyboard', 'hooks.acme.com/?keyboard=de&author=ada&signal=7&compass=n&passenger=2'],
  ['type of token', 'hooks.acme.com/?token_type=bearer&auth_mode=none&key_type=ec'],
  ['version of signatures', 'hooks.acme.com/?signature_version=2&session_type=user&cookie_policy=strict'],
  ['method of signatures', 'hooks.acme.com/?oauth_signature_method=HMAC-SHA1&password_policy=strong'],
  ['number of tokens', 'hooks.acme.com/?max_tokens=100&total_tokens=20'],
  ['switch', 'hooks.acme.com/?require_auth=true&use_session=1&has_token=false&signature=off&auth=none'],
  ['issue key', 'hooks.acme.com/?issueKey=PROJ-12&project_key=PROJ&space_key=DOCS'],
  ['key of deduplication', 'hooks.acme.com/?dedup_key=order&lookup_key=sku&sort_key=date'],
  ['code of a country', 'hooks.acme.com/?code=DE&country_code=DE&currencyCode=EUR&zip_code=10115'],
  ['code of a warehouse', 'hooks.acme.com/?code=warehouse-7&discountcode=SUMMER2026'],
  ['plus sign', 'hooks.acme.com/?sign=plus&design=1&assignment=2'],
  ['session of a conference', 'hooks.acme.com/?training_session=intro'],
  ['identifier', `hooks.acme.com/?tenant=${UUID}&client_id=cli_4eC39HqLyjWDarjtT1zdp7&hash=${HEX}`],
]

describe('credentials in a callback URL', () => {
  const verdict = (url: string): string => {
    const result = checkPublicUrl(`https://${url}`, createAddressRule())
    return result.ok ? 'accepted' : result.code
  }
  for (const [rows, expected] of [
    [WITH_CREDENTIAL, 'callback_url_credential'],
    [WITH_SECRET, 'callback_url_secret'],
    [HARMLESS, 'accepted'],
  ] as const)
    describe(expected, () => {
      for (const [what, url] of rows) it(`judges ${what}`, () => assert.equal(verdict(url), expected))
    })
})
