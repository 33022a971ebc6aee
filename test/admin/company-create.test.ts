import assert from 'node:assert/strict'
import { indexOfPassword } from '../../apps/api/accounts/passwords.ts'
import { markSchema, SCHEMA_NEEDED } from '../../apps/api/stores/database-checks.ts'
import { createAcme, freshAdmin, PASSWORD, refused, succeeded } from '../support/admin.ts'

const REFUSAL = 'A newer version migrated this database: run the command of that version.'
const TAKEN_PASSWORD = /Another account of this address has this password\. Nothing was changed\./

describe('admin company create', () => {
  const operator = freshAdmin()

  const OWNER = { '--owner-email': 'owner@acme.example' }
  const good = {
    '--name': 'Initech',
    '--timezone': 'America/Chicago',
    '--currency': 'USD',
    '--owner-email': 'Bill@Initech.example',
    '--owner-name': 'Bill L.',
  }
  const create = (changes: Record<string, string | undefined> = {}, password = PASSWORD) => {
    const given = Object.entries({ ...good, ...changes }).filter(([, value]) => value !== undefined)
    const options = given.flatMap(([name, value = '']) => (value === '' ? [name] : [name, value]))
    return operator.admin(['company', 'create', '--json', ...options], password)
  }
  const count = async (table: string) => Number((await operator.db(table).count())[0]?.count)

  it('takes a name of 200 characters, however they are written, and a currency in small letters', async () => {
    const { json } = await succeeded(create({ '--name': '🛒'.repeat(200), '--currency': 'usd' }))
    assert.deepEqual([json.company.name, json.company.currency], ['🛒'.repeat(200), 'USD'])
  })

  it('keeps the name of a time zone as it was typed, in the letters of its own', async () => {
    for (const stored of ['Asia/Calcutta', 'Etc/UTC']) {
      const typed = stored.replace('Asia/C', 'asia/c')
      const { json } = await succeeded(create({ '--timezone': typed, '--existing-account': '' }))
      assert.equal(json.company.timezone, stored)
    }
  })

  it('refuses a database that another version migrated, and changes nothing in it', async () => {
    await markSchema(operator.db, SCHEMA_NEEDED + 5, SCHEMA_NEEDED + 1)
    const { code, stderr } = await create()
    assert.deepEqual([code, JSON.parse(stderr)], [1, { error: REFUSAL }])
    assert.equal(await count('companies'), 0)
    await markSchema(operator.db, SCHEMA_NEEDED - 1)
    await refused(create(), /was not migrated for this version: run \\"npm run migrate\\" first/)
    await markSchema(operator.db, SCHEMA_NEEDED + 5, SCHEMA_NEEDED)
    assert.equal((await create()).code, 0)
  })

  it('makes a company with an owner who can sign in', async () => {
    const { json } = await succeeded(create({}, `${PASSWORD}\n`))
    assert.match(json.company.vendorId, /^ven_[0-9A-Za-z]{22}$/)
    const user = await operator.db('users').where({ user_id: json.owner.userId }).first()
    assert.equal(await indexOfPassword(PASSWORD, [user.password_hash]), 0)
  })

  it('makes a separate account for an address that someone else may have taken', async () => {
    await createAcme(operator)
    const taken = await operator.db('users').first()
    const createNew = (password?: string) => create({ ...OWNER, '--new-account': '' }, password)
    await refused(createNew(), TAKEN_PASSWORD)
    const { owner, company } = (await succeeded(createNew('a second password'))).json
    assert.notEqual(owner.userId, taken.user_id)
    const hashes: string[] = await operator.db('users').pluck('password_hash')
    assert.equal(new Set(hashes.map((hash) => hash.split('$')[4])).size, 1, 'of one salt')
    const memberships = operator.db('memberships').where({ user_id: taken.user_id })
    assert.deepEqual(await memberships.pluck('vendor_id'), ['ven_acme'])
    const run = (command: string, password = 'a new password') => operator.admin(command.split(' '), password)
    await refused(run('password reset owner@acme.example'), /vendor_id:owner@.+ ven_acme; ven_\w+\.\n$/)
    const add = run('member add ven_acme owner@acme.example --role member --existing-account')
    await refused(add, /already belongs to ven_acme/)
    const reset = `password reset ${company.vendorId}:owner@acme.example`
    await refused(run(reset, PASSWORD), TAKEN_PASSWORD)
    await succeeded(run(reset))
    const [hash] = await operator.db('users').where({ user_id: taken.user_id }).pluck('password_hash')
    assert.equal(hash, taken.password_hash)
    const createWithExisting = () => create({ ...OWNER, '--existing-account': '' })
    await refused(createWithExisting(), /has several accounts.*--new-account/)
    for (const user_id of [taken.user_id, owner.userId])
      await operator.db('openid_identities').insert({ issuer: 'https://id.test', subject: user_id, user_id })
    await refused(createWithExisting(), /has several accounts.*--new-account/)
  })

  const LONG_ADDRESS = `${'\u0130'.repeat(200)}@b.cc`
  const REFUSED: [why: string, changes: Record<string, string | undefined>, sentence: RegExp][] = [
    ['an abbreviation for a time zone', { '--timezone': 'PST' }, /is not an IANA time zone/],
    ['a time zone that only ICU knows', { '--timezone': 'SystemV/EST5' }, /is not an IANA time zone/],
    ['an offset for a time zone', { '--timezone': '+02:00' }, /is not an IANA time zone/],
    ['a currency that is none', { '--currency': 'QQQ' }, /is not an ISO 4217 currency/],
    ['an empty name', { '--name': '  ' }, /name must have 1 to 200 characters/],
    ['a name that reads backwards', { '--name': 'C\u202Ex' }, /name must be one line of plain text/],
    ['a name of two lines', { '--owner-name': 'Bill\nOwner of all' }, /name must be one line of plain text/],
    ['an address that looks like another', { '--owner-email': 'a\u200E@b.example' }, /is not an email/],
    ['an address too long in lower case', { '--owner-email': LONG_ADDRESS }, /is not an email/],
  ]
  for (const [why, changes, sentence] of REFUSED)
    it(`refuses ${why}, and makes nothing`, async () => {
      await refused(create(changes), sentence)
      assert.deepEqual([await count('companies'), await count('users')], [0, 0])
    })
})
