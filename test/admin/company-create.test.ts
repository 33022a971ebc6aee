import assert from 'node:assert/strict'
import { indexOfPassword } from '../../apps/api/accounts/passwords.ts'
import { markSchema, SCHEMA_NEEDED } from '../../apps/api/stores/database-checks.ts'
import { createAcme, freshAdmin, PASSWORD, refused, succeeded } from '../support/admin.ts'

const REFUSAL = 'A newer version migrated this database: run the command of that version.'

describe('admin company create', () => {
  const operator = freshAdmin()

  const good = {
    '--name': 'Initech',
    '--timezone': 'America/Chicago',
    '--currency': 'USD',
    '--owner-email': 'Bill@Initech.example',
    '--owner-name': 'Bill L.',
  }
  const create = (changes: Record<string, string | undefined> = {}, password = PASSWORD) =>
    operator.admin(
      [
        'company',
        'create',
        '--json',
        ...Object.entries({ ...good, ...changes }).flatMap(([k, v]) =>
          v === undefined ? [] : v === '' ? [k] : [k, v],
        ),
      ],
      password,
    )
  const count = async (table: string) => Number((await operator.db(table).count())[0]?.count)

  it('takes a name of 200 characters, however they are written, and a currency in small letters', async () => {
    const { json } = await succeeded(create({ '--name': '🛒'.repeat(200), '--currency': 'usd' }))
    assert.deepEqual([json.company.name, json.company.currency], ['🛒'.repeat(200), 'USD'])
  })

  it('keeps the name of a time zone as it was typed, in the letters of its own', async () => {
    for (const [typed, stored] of [
      ['asia/calcutta', 'Asia/Calcutta'],
      ['Etc/UTC', 'Etc/UTC'],
    ])
      assert.equal(
        (await succeeded(create({ '--timezone': typed, '--new-account': '' }))).json.company.timezone,
        stored,
      )
  })

  it('refuses a database that a newer version migrated, and changes nothing in it', async () => {
    await markSchema(operator.db, SCHEMA_NEEDED + 5, SCHEMA_NEEDED + 1)
    const { code, stderr } = await create()
    assert.deepEqual([code, JSON.parse(stderr)], [1, { error: REFUSAL }])
    assert.equal(await count('companies'), 0)
    await markSchema(operator.db, SCHEMA_NEEDED + 5, SCHEMA_NEEDED)
    assert.equal((await create()).code, 0)
  })

  it('makes a company with an owner who can sign in', async () => {
    const { json } = await succeeded(create({}, `${PASSWORD}\n`))
    assert.match(json.company.vendorId, /^ven_[0-9A-Za-z]{22}$/)
    assert.deepEqual(
      { ...json.company, vendorId: '' },
      { vendorId: '', name: 'Initech', timezone: 'America/Chicago', currency: 'USD' },
    )
    assert.equal(json.owner.email, 'bill@initech.example')
    assert.equal(json.owner.role, 'owner')
    const user = await operator.db('users').where({ user_id: json.owner.userId }).first()
    assert.equal(await indexOfPassword(PASSWORD, [user.password_hash]), 0)
    assert.ok(!JSON.stringify(json).includes('argon2'))
    const membership = await operator.db('memberships').first()
    assert.deepEqual([membership.role, membership.status], ['owner', 'active'])
    const { vendorId } = json.company
    const { userId, name, email } = json.owner
    const entries = await operator.db('activity').orderBy('entry_id')
    assert.deepEqual(
      entries.map(({ vendor_id, user_id, action, subject, detail }) => ({
        ...{ vendor_id, user_id, action, subject, detail },
      })),
      [
        { action: 'company.created', subject: vendorId, detail: { name: 'Initech' } },
        { action: 'person.added', subject: userId, detail: { name, email, role: 'owner' } },
      ].map((entry) => ({ vendor_id: vendorId, user_id: null, ...entry })),
    )
  })

  it('takes an existing account only when told to: anyone may have made it', async () => {
    await createAcme(operator)
    await refused(
      create({ '--owner-email': 'owner@acme.example' }),
      /already has an account.*It belongs to ven_acme\..*--existing-account.*--new-account/,
    )
    assert.equal(await count('companies'), 1)
  })

  it('makes a separate account for an address that someone else may have taken', async () => {
    await createAcme(operator)
    const taken = await operator.db('users').first()
    const made = await create({ '--owner-email': 'owner@acme.example', '--new-account': '' })
    assert.equal(made.code, 0, made.stderr)
    const { owner, company } = made.json
    assert.notEqual(owner.userId, taken.user_id)
    const memberships = await operator.db('memberships').where({ user_id: taken.user_id })
    assert.deepEqual(
      memberships.map(({ vendor_id }) => vendor_id),
      ['ven_acme'],
    )
    for (const [args, sentence] of [
      [['password', 'reset', 'owner@acme.example'], /several accounts.*vendor_id:owner@acme\.example/],
      [
        ['member', 'add', 'ven_acme', 'owner@acme.example', '--role', 'member', '--existing-account'],
        /already belongs to ven_acme/,
      ],
    ] as const)
      assert.match((await operator.admin([...args], 'a new password')).stderr, sentence)
    const email = `${company.vendorId}:owner@acme.example`
    const reset = await operator.admin(['password', 'reset', email], 'a new password')
    assert.equal(reset.code, 0, reset.stderr)
    const [before, after] = [taken, await operator.db('users').where({ user_id: taken.user_id }).first()]
    assert.equal(after.password_hash, before.password_hash)
    const both = await create({ '--owner-email': 'owner@acme.example', '--existing-account': '' })
    assert.match(both.stderr, /has several accounts.*--new-account/)
    for (const [subject, { userId }] of Object.entries({ first: { userId: taken.user_id }, second: owner }))
      await operator.db('openid_identities').insert({ issuer: 'https://id.test', subject, user_id: userId })
    const linked = await create({ '--owner-email': 'owner@acme.example', '--existing-account': '' })
    assert.match(linked.stderr, /has several accounts.*--new-account/)
  })

  it('makes an account that exists already the owner, and leaves its password', async () => {
    await createAcme(operator)
    const before = await operator.db('users').first()
    const owner = {
      '--owner-email': 'owner@acme.example',
      '--owner-name': undefined,
      '--existing-account': '',
    }
    await succeeded(create(owner, ''))
    assert.deepEqual(await operator.db('users').first(), before)
    assert.equal(await count('memberships'), 2)
  })

  const REFUSED: [why: string, changes: Record<string, string | undefined>, sentence: RegExp][] = [
    ['a vendor id that is none', { '--vendor-id': 'acme' }, /^\{"error":"A vendor id is ven_ followed by/],
    ['a time zone that is none', { '--timezone': 'Mars/Base' }, /is not an IANA time zone/],
    ['an abbreviation for a time zone', { '--timezone': 'PST' }, /is not an IANA time zone/],
    ['a time zone that only ICU knows', { '--timezone': 'SystemV/EST5' }, /is not an IANA time zone/],
    ['an offset for a time zone', { '--timezone': '+02:00' }, /is not an IANA time zone/],
    ['a currency that is none', { '--currency': 'QQQ' }, /is not an ISO 4217 currency/],
    ['an empty name', { '--name': '  ' }, /name must have 1 to 200 characters/],
    ['what is no email address', { '--owner-email': 'bill' }, /is not an email address/],
    ['a name that reads backwards', { '--name': 'C\u202Ex' }, /name must be one line of plain text/],
    ['a name of two lines', { '--owner-name': 'Bill\nOwner of all' }, /name must be one line of plain text/],
    ['an address that looks like another', { '--owner-email': 'a\u200E@b.example' }, /is not an email/],
    [
      'an address too long in lower case',
      { '--owner-email': `${'\u0130'.repeat(200)}@b.cc` },
      /is not an email/,
    ],
    ['an owner without a name', { '--owner-name': undefined }, /add the person's name/],
  ]
  for (const [why, changes, sentence] of REFUSED) {
    it(`refuses ${why}, and makes nothing`, async () => {
      await refused(create(changes), sentence)
      assert.equal(await count('companies'), 0)
      assert.equal(await count('users'), 0)
    })
  }

  it('refuses an identifier that is taken', async () => {
    await createAcme(operator)
    await refused(create({ '--vendor-id': 'ven_acme' }), /The company ven_acme already exists/)
    assert.equal(await count('users'), 1)
  })

  it('names an option that is missing', async () => {
    const { code, stderr } = await create({ '--currency': undefined })
    assert.equal(code, 64)
    assert.match(stderr, /required option '--currency <code>' not specified/)
  })
})
