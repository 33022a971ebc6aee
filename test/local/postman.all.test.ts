import assert from 'node:assert/strict'
import { runInNewContext } from 'node:vm'
import type { ApiDocument } from '../../apps/api/discovery/openapi/document-shape.ts'
import { startTestStack, type TestStack } from '../support/stack.ts'

interface Pair {
  key: string
  value: string
  disabled?: boolean
}

interface Item {
  name: string
  request: {
    method: string
    header: Pair[]
    url: { raw: string; query?: Pair[] }
    auth: { type: string; basic?: Pair[]; bearer?: Pair[] }
    body?: { mode: string; raw?: string; urlencoded?: Pair[] }
  }
  event?: { listen: string; script: { exec: string[] } }[]
}

interface Collection {
  info: { schema: string }
  item: { name: string; item: Item[] }[]
  variable: Pair[]
}

/** What needs something that a new stack does not have, by its name in the document. Everything else succeeds. */
const REFUSED: Record<string, number> = {
  // The client is no service that an operator registered.
  introspectToken: 401,
  endSession: 404,
  changePassword: 422,
  // Nothing replaces the client.
  changeRotation: 422,
  acceptInvitation: 404,
  previewInvitation: 404,
  // No OpenID provider is configured.
  beginOpenidSignIn: 404,
  finishOpenidSignIn: 404,
  endOpenidSessions: 404,
  explainRefusal: 404,
  // The example's address is the owner's.
  invitePerson: 409,
  changePerson: 404,
  removePerson: 404,
}

/** Sends requests as Postman does: variables filled in, what is disabled left out, the scripts run after the answer. */
function createRunner(variables: Map<string, string>) {
  const filled = (text: string): string =>
    text.replaceAll(/\{\{([$\w]+)\}\}/g, (_, name) =>
      name === '$isoTimestamp'
        ? new Date().toISOString()
        : (variables.get(name) ?? assert.fail(`no variable ${name}`)),
    )
  const enabled = (pairs: Pair[] = []) =>
    pairs.filter(({ disabled }) => !disabled).map(({ key, value }) => [key, filled(value)] as const)

  return async ({ request, event = [] }: Item): Promise<{ status: number; text: string }> => {
    const { method, header, url, auth, body } = request
    const headers = new Headers(enabled(header).map(([name, value]) => [name, value]))
    const { username, password, token } = Object.fromEntries(enabled(auth.basic ?? auth.bearer))
    if (auth.type === 'basic')
      headers.set('Authorization', `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`)
    if (auth.type === 'bearer') headers.set('Authorization', `Bearer ${token}`)
    if (body?.mode === 'raw') headers.set('Content-Type', 'application/json')
    const target = new URL(filled(url.raw))
    for (const [name, value] of enabled(url.query)) target.searchParams.append(name, value)
    const response = await fetch(target, {
      method,
      headers,
      redirect: 'manual',
      ...(body?.mode === 'raw' && { body: filled(body.raw ?? '') }),
      ...(body?.mode === 'urlencoded' && {
        body: new URLSearchParams(enabled(body.urlencoded).map(([name, value]) => [name, value])),
      }),
    })
    const text = await response.text()
    for (const { script } of event)
      runInNewContext(script.exec.join('\n'), {
        pm: {
          response: { code: response.status, json: () => JSON.parse(text) },
          collectionVariables: { set: (name: string, value: string) => void variables.set(name, value) },
        },
      })
    return { status: response.status, text }
  }
}

describe('the Postman collection', () => {
  let stack: TestStack
  let collection: Collection
  before(async () => {
    // The password is the one of the collection's own example.
    stack = await startTestStack({ env: { DEMO_PASSWORD: 'correct horse battery staple' } })
    collection = (await (await fetch(`${stack.baseUrl}/docs/postman.json`)).json()) as Collection
  })
  after(() => stack.remove())

  it('has every operation of the document, whose requests a whole stack answers in their order', async () => {
    const document = (await (await fetch(`${stack.baseUrl}/openapi.json`)).json()) as ApiDocument
    const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
    const byName = new Map(operations.map((operation) => [operation.summary, operation]))
    const items = collection.item.flatMap(({ item }) => item)
    assert.deepEqual(items.map(({ name }) => name).sort(), operations.map(({ summary }) => summary).sort())

    const variables = new Map(collection.variable.map(({ key, value }) => [key, value]))
    const run = createRunner(variables)
    const signIn = items.find(({ name }) => name === 'Sign in') ?? assert.fail('no sign-in')
    assert.equal((await run(signIn)).status, 201)
    await createClient(variables, stack)
    for (const item of items) {
      const { operationId = '' } = byName.get(item.name) ?? {}
      const { status, text } = await run(item)
      const expected = REFUSED[operationId]
      assert.ok(
        expected === undefined ? status < 400 : status === expected,
        `${item.name}: ${status} ${text.slice(0, 500)}`,
      )
      // What a wrong address would be answered with is no answer of the operation.
      assert.doesNotMatch(text, /No such path/, item.name)
      if (operationId === 'signOut') await run(signIn)
    }

    const kept = variables.get('access_token') ?? ''
    assert.match(kept, /^[\w-]+\.[\w-]+\.[\w-]+$/)
    variables.set('client_secret', 'wrong')
    assert.equal((await run(items[0] as Item)).status, 401)
    assert.equal(variables.get('access_token'), kept)
  })
})

/** What a manager does in the workspace, and puts into the variables. */
async function createClient(
  variables: Map<string, string>,
  { baseUrl, demoClient: { vendorId } }: TestStack,
) {
  const scope = 'analytics:read analytics:write'
  const response = await fetch(`${baseUrl}/v1/vendor/${vendorId}/oauth-clients`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${variables.get('sessionToken')}`,
      'Content-Type': 'application/json',
    },
    body: JSON.stringify({ name: 'Postman', scopes: scope.split(' ') }),
  })
  const text = await response.text()
  assert.equal(response.status, 201, text)
  const { clientId, clientSecret } = JSON.parse(text)
  variables.set('client_id', clientId).set('client_secret', clientSecret)
  variables.set('scope', scope).set('vendorId', vendorId)
}
