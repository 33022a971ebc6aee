import { strict as assert } from 'node:assert'
import { newClientId } from '../../apps/api/accounts/new-ids.ts'
import { basic, sharedAuth, tokenFields } from '../support/auth.ts'
import { API_RESOURCE } from '../support/issuer.ts'

/** The fields of each endpoint, the one that it requires first. */
const FIELDS = {
  '/v1/oauth/token': ['grant_type', 'client_id', 'client_secret', 'scope', 'resource'],
  '/v1/oauth/revoke': ['token', 'client_id', 'client_secret'],
  '/v1/oauth/introspect': ['token', 'client_id', 'client_secret'],
}
type Form = Record<string, string>
type Sent = { query?: string; body?: string; headers?: Record<string, string> }

const FORM = 'application/x-www-form-urlencoded'
const changeForm = (form: Form, changes: Record<string, string | undefined> = {}) =>
  Object.entries({ ...form, ...changes })
    .filter((field): field is [string, string] => field[1] !== undefined)
    .map((field) => new URLSearchParams([field]))
    .join('&')
/** The form without its credentials. */
const bare = (form: Form, client_id?: string) => changeForm(form, { client_id, client_secret: undefined })
const by = (authorization: string) => ({ authorization })
const withBasic = ({ client_id = '', client_secret = '' }: Form) => by(basic(client_id, client_secret))
const padded = (form: Form, bytes: number) => `${changeForm(form)}&pad=`.padEnd(bytes, 'x')

const contentTypes = (...types: string[]): Record<string, () => Sent> =>
  Object.fromEntries(
    types.map((type) => [`the content type “${type}”`, () => ({ headers: { 'content-type': type } })]),
  )

const ACCEPTED: Record<string, (form: Form) => Sent> = {
  'each field once': () => ({}),
  'unknown fields, twice': (form) => ({
    body: `${changeForm(form)}&foo=1&foo=2&expires_in=9&__proto__=x`,
  }),
  ...contentTypes(
    'Application/X-WWW-Form-URLencoded; charset=UTF-8',
    'application/x-www-form-urlencoded ; q="x;y"',
    // What Apache HttpClient sends. The form is percent-encoded, so its own bytes are ASCII.
    'application/x-www-form-urlencoded; charset=ISO-8859-1',
  ),
  'an empty content encoding': () => ({ headers: { 'content-encoding': '' } }),
  'a query that holds no field of the request': () => ({ query: '?utm_source=x' }),
  'HTTP Basic, without client_id in the body': (form) => ({ body: bare(form), headers: withBasic(form) }),
  'HTTP Basic with the same client_id in the body, and an empty client_secret': (form) => ({
    body: changeForm(form, { client_secret: '' }),
    headers: withBasic(form),
  }),
  'HTTP Basic whose parts are form-encoded (RFC 6749 §2.3.1)': (form) => {
    const parts = [form.client_id?.replace('_', '%5F'), form.client_secret?.replace('_', '%5f')]
    return { body: bare(form), headers: by(`basic ${btoa(parts.join(':'))}`) }
  },
  'a body of 8 KiB': (form) => ({ body: padded(form, 8_192) }),
}

const REFUSED: Record<string, (form: Form) => Sent> = {
  'credentials in the query under an encoded name': () => ({ query: '?x=1&client%5Fsecret=s' }),
  ...contentTypes('application/json', 'text/plain', `${FORM}x`, `text/x, ${FORM}`),
  'a content encoding': () => ({ headers: { 'content-encoding': 'gzip' } }),
  ...Object.fromEntries(
    ['client_id=%zz', '%=1', 'client_secret=%ff%fe'].map((body) => [`the body ${body}`, () => ({ body })]),
  ),
  'Basic and client_secret at once': (form) => ({ headers: withBasic(form) }),
  'another scheme and client_secret at once': () => ({ headers: by('Bearer abc') }),
  'another client_id in the body than in Basic': (form) => ({
    body: bare(form, newClientId()),
    headers: withBasic(form),
  }),
  ...Object.fromEntries(
    ['Basic', 'Basic !!!', `Basic ${btoa('nocolon')}`, `Basic ${btoa('%:x')}`].map((header) => [
      `the header “${header}”`,
      (form: Form) => ({ body: bare(form, form.client_id), headers: by(header) }),
    ]),
  ),
  'Basic with an empty id': (form) => ({
    body: bare(form),
    headers: withBasic({ ...form, client_id: '' }),
  }),
  'a body of more than 8 KiB': (form) => ({ body: padded(form, 8_193) }),
  'a body of half a mebibyte, whose sender reads the answer': (form) => ({
    body: padded(form, 512 * 1_024),
  }),
}

for (const [path, names] of Object.entries(FIELDS))
  describe(`the form of POST ${path}`, () => {
    const auth = sharedAuth()
    let form: Form
    before(async () => {
      const client = tokenFields(await auth.createClient())
      const { client_id = '', client_secret = '' } = client
      if (path === '/v1/oauth/token') form = { ...client, resource: API_RESOURCE }
      else if (path === '/v1/oauth/revoke') form = { token: 'x', client_id, client_secret }
      else form = { token: 'x', ...(await auth.createService()) }
    })
    const send = ({ query = '', body = changeForm(form), headers = {} }: Sent) =>
      auth.post(path + query, body, headers)
    async function refuses(sent: Sent): Promise<void> {
      const { status, json, text, headers } = await send(sent)
      assert.deepEqual([status, json?.error], [400, 'invalid_request'], text)
      assert.equal(headers.get('content-type'), 'application/json')
      assert.equal(headers.get('cache-control'), 'no-store')
      if (sent.headers?.['content-encoding']) assert.match(json.error_description, /Content-Encoding/)
    }

    for (const [what, sentOf] of Object.entries(ACCEPTED))
      it(`accepts ${what}`, async () => {
        const { status, text } = await send(sentOf(form))
        assert.equal(status, 200, text)
      })

    for (const [what, sentOf] of Object.entries(REFUSED)) it(`refuses ${what}`, () => refuses(sentOf(form)))

    for (const name of names) {
      const field = () => new URLSearchParams({ [name]: form[name] ?? '' })
      it(`refuses ${name} in the query`, () => refuses({ query: `?${field()}` }))
      if (name === 'resource') continue
      it(`refuses ${name} sent twice, also with the same value`, () =>
        refuses({ body: `${changeForm(form)}&${field()}` }))
      it(`refuses ${name} sent twice, once empty, once under an encoded name`, () =>
        refuses({ body: `%${name.charCodeAt(0).toString(16)}${name.slice(1)}=&${changeForm(form)}` }))
    }

    const [required = ''] = names
    it(`refuses a request without ${required}`, () =>
      refuses({ body: changeForm(form, { [required]: undefined }) }))
    it(`refuses an empty ${required}`, () => refuses({ body: changeForm(form, { [required]: '' }) }))

    it('refuses a body of more than 8 KiB and unknown length', async () => {
      const body = new Blob([padded(form, 8_193)]).stream()
      const init = { method: 'POST', headers: { 'content-type': FORM }, body, duplex: 'half' } as RequestInit
      assert.equal((await fetch(auth.url + path, init)).status, 400)
    })
  })
