import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { newClientId } from '../../apps/api/accounts/new-ids.ts'
import { eraseCompanyRows } from '../../infra/admin/companies.ts'
import { refused, runAdmin, sharedAdmin, succeeded } from '../support/admin.ts'
import { sharedApi, type TestPerson } from '../support/api.ts'
import { sharedAuth, type TestClient } from '../support/auth.ts'
import { insertTestClient } from '../support/companies.ts'
import { eventually } from '../support/eventually.ts'
import { assertStatuses } from '../support/problem.ts'
import { placesHolding, readStores } from '../support/read-stores.ts'
import { isKeptAfterCompany } from '../support/retention.ts'

const VENDOR = 'ven_unforgettable'
const NAME = 'Goods Inimitable'
const IDS = 120
const IDS_OF_OTHERS = 50

describe('admin company erase', () => {
  const api = sharedApi()
  const auth = sharedAuth({ beside: api })
  let neighbour: string
  let owner: TestPerson
  let leaver: TestPerson
  let shared: TestPerson
  /** Left both companies. */
  let former: TestPerson
  /** Left, and is known besides in a company that is erased. */
  let wanderer: TestPerson
  let clients: TestClient[]
  /** Ids of requests from before. */
  let requestIds: string[]

  before(async () => {
    neighbour = (await api.createCompany()).vendorId
    await api.createCompany({ vendorId: VENDOR, name: NAME })
    owner = await api.createPerson({ vendorId: VENDOR, role: 'owner' })
    leaver = await api.createPerson({ vendorId: VENDOR, role: 'member' })
    shared = await api.createPerson({ vendorId: VENDOR, role: 'member' })
    former = await api.createPerson({ vendorId: VENDOR, role: 'admin' })
    wanderer = await api.createPerson({ vendorId: VENDOR, role: 'member' })
    const { vendorId: erased } = await api.createCompany()
    await api.db('activity').insert([
      { vendor_id: neighbour, user_id: former.userId, action: 'client.created', subject: 'cli_x' },
      { vendor_id: erased, user_id: wanderer.userId, action: 'client.created', subject: 'cli_x' },
    ])
    await api.db('companies').where({ vendor_id: erased }).update({ erased_at: new Date() })
    await api.db('memberships').insert({ vendor_id: neighbour, user_id: shared.userId, role: 'owner' })
    const workload = {
      issuer: 'https://git.inimitable.example',
      platform: 'gitlab' as const,
      claims: { sub: 'project:inimitable' },
      keys: [{ kty: 'EC' }],
    }
    const newClient = (_: unknown, i: number) =>
      auth.createClient({ vendorId: VENDOR, ...(i > 8 && { workload }) })
    clients = await Promise.all(Array.from({ length: 12 }, newClient))
    // Names that people chose, and not those of something erased.
    await api.db('users').where({ user_id: owner.userId }).update({ name: 'Erased person' })
    const { clientId } = clients.at(-1) as TestClient
    await api.db('oauth_clients').where({ client_id: clientId }).update({ name: 'Erased client' })
    await auth.createClient({ vendorId: neighbour })
    await leaveTraces()
  })

  const admin = (args: string[], options: Partial<Parameters<typeof runAdmin>[1]> = {}) => {
    const env = { DATABASE_URL: api.database.operatorUrl, REDIS_URL: api.redis.url('api') }
    return runAdmin(args, { env, ...options })
  }
  const erase = (...args: string[]) => admin(['company', 'erase', VENDOR, ...args])
  const answer = (input: string) => admin(['company', 'erase', VENDOR], { input, atTerminal: true })
  const namesOf = (...people: TestPerson[]) => {
    const ids = people.map(({ userId }) => userId)
    return api.db('users').whereIn('user_id', ids).distinct('name').pluck('name')
  }
  const readStatus = async ({ clientId }: TestClient) => {
    const token = await api.issuer.token({ clientId, vendorId: VENDOR })
    const { status, text } = await api.request('GET', `/v1/analytics/${VENDOR}/daily`, { token })
    return status < 500 ? status : text
  }
  /** Counts the other company's rows in the tables that an erasure touches. */
  const countsOfOthers = async () =>
    (await readStores(api.db, api.redis)).filter(({ where, text }) =>
      /^(analytics|client_usage|oauth_clients|callback)/.test(where) ? text.includes(neighbour) : false,
    ).length

  async function leaveTraces(): Promise<void> {
    const [first, second] = clients
    assert.ok(first && second)
    await owner.invite('someone@inimitable.example', { name: 'Invited Inimitable', role: 'member' })
    assert.equal((await owner.request('DELETE', `people/${leaver.userId}`)).status, 204)
    const body = { name: 'Client Inimitable' }
    assert.equal((await owner.request('PATCH', `oauth-clients/${first.clientId}`, { body })).status, 200)
    for (const vendor of [VENDOR, neighbour]) {
      const [person, ids] = vendor === VENDOR ? [owner, IDS] : [shared, IDS_OF_OTHERS]
      await api.db('callback_destinations').insert({
        vendor_id: vendor,
        callback_url: `https://${vendor.replace('_', '-')}.example/`,
        verified: true,
        updated_at: new Date(),
        updated_by: person.userId,
      })
      await api.db.raw(
        `insert into analytics_daily (vendor_id, date, last_event_at)
         select ?, '2026-01-01'::date + n, now() from generate_series(1, 40) n`,
        [vendor],
      )
      await api.db.raw(
        'insert into analytics_event_ids (vendor_id, event_id) select ?, n from generate_series(1, ?::int) n',
        [vendor, ids],
      )
      await api.db.raw(
        `insert into analytics_events (vendor_id, event_id, type, date, occurred_at, received_at, quantity)
         select ?, n, 'click', '2026-01-02', now(), now() - (n % 2) * interval '60 days', 1
         from generate_series(1, ?::int) n`,
        [vendor, ids],
      )
    }
    for (const [table, columns] of [
      ['client_usage', 'select client_id, now(), now()'],
      ['client_usage_hourly', 'select client_id, now(), 1'],
      ['client_usage_by_minute', 'select client_id, now(), 1, 0'],
      ['client_address_usage', `select client_id, now(), '192.0.2.1', 1, now(), now()`],
    ] as const)
      await api.db.raw(`insert into ${table} ${columns} from oauth_clients`)
    await api
      .db('oauth_clients')
      .where({ client_id: first.clientId })
      .update({ secret_found_at: new Date(), secret_found_source: 'https://git.inimitable.example' })
    // As a batch that reads a whole partition: the client too must wait for more than 30 s.
    await api.db.raw(`
      create function check_limit() returns trigger language plpgsql as $$ begin
        assert (select reset_val from pg_settings where name = 'statement_timeout') = '600000';
        return old; end $$;
      create trigger check_limit before delete on analytics_event_ids
        for each row execute function check_limit()`)
    // A refused request and a token, which reach Redis within about a second.
    const requests = [await auth.token(first, { scope: 'boost:write' }), await auth.token(second)]
    assertStatuses(requests, 400, 200)
    requestIds = requests.map(({ headers }) => headers.get('x-request-id') ?? '')
    const kinds = ['refusals:record:', 'refusals:proven:counts:', 'requests:of:', 'requests:logs:']
    const isKept = async () => {
      const kept = await whereAny(VENDOR, ...requestIds)
      return kinds.every((kind) => kept.some((where) => where.startsWith(kind)))
    }
    await eventually(isKept, { every_ms: 500 })
    assert.equal((await owner.request('POST', `oauth-clients/${second.clientId}/revoke`)).status, 200)
  }
  /** As a request does that began before its client was revoked, and takes three seconds. */
  async function writeLate(): Promise<void> {
    const active = api.db('oauth_clients').where({ vendor_id: VENDOR, status: 'Active' })
    await eventually(async () => (await active).length === 0, { every_ms: 200 })
    await sleep(3_000)
    await api.db.raw(
      `insert into client_creation_keys
         (vendor_id, user_id, idempotency_key, request_hash, client_id, created_at)
       select ?, ?, 'late', sha256(''), client_id, now() from oauth_clients where client_id = ?`,
      [VENDOR, owner.userId, String(clients[0]?.clientId)],
    )
  }
  const whereAny = async (...texts: string[]) => {
    const things = await readStores(api.db, api.redis)
    return texts.flatMap((text) => placesHolding(things, text))
  }
  const whereVendor = () => whereAny(VENDOR)

  it('refuses a company that never was', async () => {
    const { code, stderr } = await admin(['company', 'erase', 'ven_none', '--yes'])
    assert.deepEqual([code, stderr], [1, 'There is no company ven_none.\n'])
  })

  it('refuses to begin without Redis', async () => {
    const env = { DATABASE_URL: api.database.operatorUrl }
    await refused(admin(['company', 'erase', VENDOR, '--yes'], { env }), /^Set REDIS_URL too/)
    assert.equal((await owner.request('GET', 'people')).status, 200)
  })

  it('revokes the clients first, and finishes in a second run what the first could not', async () => {
    const [first] = clients
    assert.ok(first)
    assert.equal(await readStatus(first), 200)
    const others = await countsOfOthers()
    assert.ok(others > 2 * IDS_OF_OTHERS, `${others} things`)
    // One revocation takes longer than it may, and the first run fails before it comes to the figures.
    await api.db.raw(`create function stop_here() returns trigger language plpgsql as
      $$ begin raise exception 'interrupted'; end $$;
      create trigger stop_here before delete on workload_issuers execute function stop_here();
      create sequence revocations;
      create function slow() returns trigger language plpgsql security definer as
      $$ begin if nextval('revocations') = 1 then perform pg_sleep(4); end if; return null; end $$;
      create trigger slow after update on oauth_clients execute function slow()`)
    await Promise.all([refused(answer('yes\n'), /interrupted/), writeLate()])
    assert.deepEqual(await api.db('client_creation_keys').where({ vendor_id: VENDOR }), [])
    assert.deepEqual(await namesOf(leaver), ['Erased person'])
    await api.db.raw('drop trigger stop_here on workload_issuers; drop trigger slow on oauth_clients')
    for (const client of clients)
      assert.deepEqual([(await auth.token(client)).status, await readStatus(client)], [401, 401])
    assert.equal((await api.request('GET', '/v1/session', { token: owner.sessionToken })).status, 401)
    assert.ok((await whereVendor()).includes('analytics_event_ids'))

    const { stdout, stderr } = await succeeded(erase('--yes'))
    assert.match(stdout, /^ven_unforgettable is erased: /)
    assert.match(stderr, /\nanalytics_event_ids: 120 rows\n/)
    assert.equal(await countsOfOthers(), others)
  })

  it('leaves ids only where the table of what is kept says so, and no request from before', async () => {
    const left = await whereVendor()
    assert.ok(left.includes('companies') && left.includes('oauth_clients'))
    const misplaced = (places: string[], ...kept: string[]) =>
      places.filter((where) => !kept.some((what) => isKeptAfterCompany(where, what)))
    assert.deepEqual(misplaced(left, 'vendor id'), [])
    const clientPlaces = await whereAny(...clients.map(({ clientId }) => clientId))
    assert.deepEqual(misplaced(clientPlaces, 'stay', 'drops it', 'same', 'vendor id'), [])
    assert.deepEqual(await whereAny(...requestIds), [])
  })

  it('leaves neither its name nor that of anyone who was only there', async () => {
    const things = await readStores(api.db, api.redis)
    const erased = [owner, leaver, wanderer]
    for (const text of ['inimitable', ...erased.map(({ email }) => email)])
      assert.deepEqual(placesHolding(things, text), [], text)
    assert.deepEqual(await namesOf(...erased), ['Erased person'])
  })

  it('leaves a person of another company there', async () => {
    const { status, json } = await api.request('GET', '/v1/session', { token: shared.sessionToken })
    const vendorIds = json.companies.map(({ vendorId }: { vendorId: string }) => vendorId)
    assert.deepEqual([status, vendorIds], [200, [neighbour]])
  })

  it('leaves the name of someone whose acts another company must be able to tell, without an account', async () => {
    const { name, email } = await api.db('users').where({ user_id: former.userId }).first()
    assert.deepEqual([name, email], [former.name, null])
    assert.equal((await api.request('GET', '/v1/session', { token: former.sessionToken })).status, 401)
  })

  it('keeps its clients known as revoked', async () => {
    const rows = await api.db('oauth_clients').where({ vendor_id: VENDOR }).select('status', 'name')
    assert.deepEqual(rows, Array(clients.length).fill({ status: 'Revoked', name: 'Erased client' }))
  })

  it('is known to no command any more', async () => {
    const add = ['member', 'add', VENDOR, shared.email, '--role', 'admin', '--existing-account']
    assert.equal((await admin(add)).stderr, `There is no company ${VENDOR}.\n`)
    assert.ok(!(await admin(['company', 'list'])).stdout.includes(VENDOR))
  })

  it('is recorded, each time, with who did it', async () => {
    const acts = await api.db('activity').where({ action: 'company.erased' })
    assert.equal(acts.length, 2)
    for (const { vendor_id, operator, detail } of acts)
      assert.deepEqual([vendor_id, typeof operator, detail], [VENDOR, 'string', {}])
  })
})

describe('admin company erase, if a client cannot be revoked', () => {
  const operator = sharedAdmin({ withRedis: true, withAcme: true })

  it('revokes the others, names it and erases no data', async () => {
    const clientIds = Array.from({ length: 4 }, newClientId).sort()
    const [, stuck = ''] = clientIds
    for (const clientId of clientIds)
      await insertTestClient(operator.db, { clientId, vendorId: 'ven_acme', name: clientId })
    await operator.db.raw(`create function refuse() returns trigger language plpgsql as
      $$ begin raise exception 'out of order'; end $$;
      create trigger refuse before update on oauth_clients for each row when (old.client_id = '${stuck}')
        execute function refuse()`)
    const sentence =
      /\n1 of 4 clients could not be revoked, so no data was erased: run the command again\.\n$/
    const { stderr } = await refused(operator.admin(['company', 'erase', 'ven_acme', '--yes']), sentence)
    assert.ok(stderr.includes(`\n${stuck} could not be revoked: out of order\n`), stderr)
    const clients = await operator.db('oauth_clients').orderBy('name').select('name', 'status')
    const statuses = clientIds.map((name) => ({ name, status: name === stuck ? 'Active' : 'Revoked' }))
    assert.deepEqual(clients, statuses)
  })
})

describe('the rows of an erased company', () => {
  const operator = sharedAdmin({ withAcme: true })

  it('go in batches, table by table, from every partition of events', async () => {
    await operator.db.raw(
      `update companies set erased_at = now() where vendor_id = 'ven_acme';
       insert into analytics_event_ids (vendor_id, event_id)
         select unnest(array['ven_acme', 'ven_other']), n from generate_series(1, 12) n;
       insert into analytics_events (vendor_id, event_id, type, date, occurred_at, received_at, quantity)
         select unnest(array['ven_acme', 'ven_other']), n, 'click', '2026-01-02', now(),
           now() - (n % 2) * interval '60 days', 1 from generate_series(1, 20) n`,
    )
    const lines: string[] = []
    const show = (line: string) => void lines.push(line.replace(/_\d+/, '_WEEK'))
    const role = operator.database.connect('operator')
    assert.equal(await eraseCompanyRows(role, 'ven_acme', { show, batchRows: 5 }), 12 + 20)
    const [ids, ...events] = lines
    assert.equal(ids, 'analytics_event_ids: 12 rows')
    assert.deepEqual(events.sort(), ['analytics_events_WEEK: 10 rows', 'analytics_events_default: 10 rows'])
    for (const table of ['analytics_event_ids', 'analytics_events'])
      assert.deepEqual(await operator.db(table).distinct('vendor_id').pluck('vendor_id'), ['ven_other'])
  })

  it('go although a request in flight adds one to a table that was already done', async () => {
    await operator.db.raw(`
      update companies set erased_at = now() where vendor_id = 'ven_acme';
      insert into workload_issuers (vendor_id, issuer, keys_from, keys, keys_as_of, attempted_at)
        values ('ven_acme', 'https://late.example', 'pasted', '[{}]', now(), now());
      create function save_late_callback() returns trigger language plpgsql as $$
      begin
        insert into public.callback_destinations (vendor_id, callback_url, verified, updated_at, updated_by)
          select 'ven_acme', 'https://late.example/', false, now(), min(user_id) from public.users;
        return null;
      end $$;
      create trigger late after delete on workload_issuers
        for each row execute function save_late_callback()`)
    await eraseCompanyRows(operator.database.connect('operator'), 'ven_acme', { show() {} })
    assert.deepEqual(await operator.db('callback_destinations').where({ vendor_id: 'ven_acme' }), [])
  })

  it('go although housekeeping drops a partition of events meanwhile', async () => {
    await operator.db.raw(`update companies set erased_at = now() where vendor_id = 'ven_acme'`)
    const role = operator.database.connect('operator')
    const erase = (relation: string) =>
      role.raw('select erase_company_rows(?, ?, 1) as n', ['ven_acme', relation])
    assert.equal((await erase('analytics_events_20200101')).rows[0].n, 0)
    await assert.rejects(erase('users'), /users is not a table of companies/)
  })
})
