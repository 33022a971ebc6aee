import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newestHead } from '#shared/accounts/activity-log.ts'
import type { LogSigner } from '../../apps/api/activity/log-key.ts'
import { appendEntries, extendAll, testSigner } from '../support/activity-log.ts'
import { createAcme, startAdmin, type TestAdmin } from '../support/admin.ts'

describe('npm run admin -- audit', () => {
  let operator: TestAdmin
  let signer: LogSigner
  let folder: string
  beforeEach(async () => {
    operator = await startAdmin()
    signer = testSigner()
    folder = await mkdtemp(join(tmpdir(), 'integration-access-audit-'))
    await createAcme(operator)
    // After the two of the company and its owner.
    await appendEntries(operator.db, 3)
    await extend()
    await appendEntries(operator.db, 6)
    await extend()
    await writeFile(at('keys.json'), JSON.stringify(await signer.publicKeys()))
  })
  afterEach(async () => {
    await operator.stop()
    await rm(folder, { recursive: true })
  })

  const at = (name: string) => join(folder, name)
  const extend = () => extendAll(operator.database.apiUrl, signer)
  const verify = (...args: string[]) =>
    operator.admin(['--json', 'audit', 'verify', '--keys', at('keys.json'), ...args])
  /** What the owner of the database does. */
  const plant = (sql: string) => operator.db.raw(sql)
  const entryAt = async (index: number): Promise<number> =>
    (await operator.db('activity').where({ leaf_index: index }).first()).entry_id
  const exported = async (name = 'log.ndjson', ...args: string[]): Promise<string[]> => {
    const { code, stdout, stderr } = await operator.admin(['audit', 'export', ...args])
    assert.equal(code, 0, stderr)
    await writeFile(at(name), stdout)
    return stdout.trimEnd().split('\n')
  }
  /** The faults that are found, each as its kind and place. */
  const found = async (...args: string[]): Promise<string[]> => {
    const { code, json, stderr } = await verify(...args)
    assert.ok(json, stderr)
    assert.equal(code, json.faults.length > 0 ? 1 : 0)
    return json.faults.map(({ kind, index }: { kind: string; index?: number }) =>
      `${kind} ${index ?? ''}`.trim(),
    )
  }

  describe('verify', () => {
    it('finds no fault in a log that nothing was done to, and says how large it is', async () => {
      const { code, json } = await verify()
      assert.deepEqual([code, json.entries, json.heads, json.erased, json.faults], [0, 11, 2, [], []])
      const { stdout } = await operator.admin(['audit', 'verify'])
      assert.match(stdout, /^11 entries, root [\w-]{43}\. Compared with 2 heads; signatures were not checked/)
      assert.match(stdout, /No entry was changed, removed, added or exchanged\.\n$/)
    })

    for (const [what, change] of [
      ['a subject', `subject = 'cli_x'`],
      ['an action', `action = 'client.created'`],
      ['a time', `at = at + interval '1 millisecond'`],
      ['a time by a microsecond', `at = at + interval '1 microsecond'`],
      [
        'a time to before Christ',
        `at = (to_char(at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') || '+00 BC')::timestamptz`,
      ],
      ['a company', `vendor_id = null, operator = 'Otto'`],
      ['a detail', `detail = jsonb_set(detail, '{after,name}', '"Neue Laden 3"')`],
      ['a detail that is taken out', `detail = '{}'`],
      ['a detail with a new hash', `detail = '{}', detail_hash = sha256(salt || '{}')`],
      ['a detail that is passed off as erased', `detail = '{"a": 1}', salt = null`],
      ['a salt', `salt = uuid_send(gen_random_uuid())`],
      ['an operator', `operator = 'Ada'`],
      ['an operator with a new hash', `operator = 'Ada', operator_hash = sha256(operator_salt || 'Ada')`],
      ['an operator who is passed off as erased', `operator = 'Ada', operator_salt = null`],
      ['a number', `entry_id = default`],
    ] as const)
      it(`names the entry whose ${what.replace(/^an? /, '')} was changed`, async () => {
        // The operator's, so that each of them has something to change.
        const { entry_id } = await operator
          .db('activity')
          .whereNotNull('operator')
          .orderBy('entry_id', 'desc')
          .first()
        const [{ leaf_index }] = await operator.db('activity').where({ entry_id })
        await plant(`update activity set ${change} where entry_id = ${entry_id}`)
        const { code, json } = await verify()
        assert.equal(code, 1)
        assert.deepEqual(
          json.faults.map(({ kind, index }: { kind: string; index: number }) => [kind, index]),
          [['changed', leaf_index]],
        )
        if (what !== 'a number') assert.match(json.faults[0].text, new RegExp(`^Entry ${entry_id} \\(`))
      })

    it('names the place of a removed entry, and the entry before it', async () => {
      await plant('delete from activity where leaf_index = 5')
      assert.deepEqual(await found(), ['removed 5'])
      const { json } = await verify()
      assert.equal(json.faults[0].text, `The entry at place 5, after entry ${await entryAt(4)}, was removed.`)
    })

    it('names two entries that were exchanged, with the places they had', async () => {
      await plant(`update activity set leaf_index = -1 where leaf_index = 2`)
      await plant(`update activity set leaf_index = 2 where leaf_index = 7`)
      await plant(`update activity set leaf_index = 7 where leaf_index = -1`)
      assert.deepEqual(await found(), ['exchanged 2', 'exchanged 7'])
      const { json } = await verify()
      assert.match(json.faults[0].text, /is at place 2, but was logged at place 7\.$/)
    })

    it('names two entries that exchanged what they say', async () => {
      await plant(`update activity a set subject = b.subject from activity b
                   where (a.leaf_index, b.leaf_index) in ((2, 7), (7, 2))`)
      assert.deepEqual(await found(), ['changed 2', 'changed 7'])
    })

    it('names an entry that was put in between, and those that made room for it', async () => {
      await plant('update activity set leaf_index = 1000 + leaf_index where leaf_index >= 9')
      await plant('update activity set leaf_index = leaf_index - 999 where leaf_index >= 1000')
      await plant(
        `insert into activity (vendor_id, action, subject) values ('ven_acme', 'client.revoked', 'cli_x')`,
      )
      await plant(
        `update activity set leaf_index = 9, salt = '', detail_hash = sha256('{}') where leaf_index is null`,
      )
      const { json } = await verify()
      const kinds = json.faults.map(({ kind, index }: { kind: string; index: number }) => `${kind} ${index}`)
      assert.deepEqual(kinds, ['changed 9', 'exchanged 10', 'added 11'])
      assert.match(json.faults[0].text, /client\.revoked of cli_x/)
    })

    it('names an entry that was added later with an earlier time', async () => {
      await plant(`insert into activity (vendor_id, action, subject, at)
                   values ('ven_acme', 'client.revoked', 'cli_x', now() - interval '2 hours')`)
      await extend()
      assert.deepEqual(await found(), ['backdated 11'])
    })

    it('finds heads that were dated back, so that an added entry seems older than they are', async () => {
      await plant(`update activity_heads set at = at - interval '1 day'`)
      await plant(`insert into activity (vendor_id, action, subject, at)
                   values ('ven_acme', 'client.revoked', 'cli_x', now() - interval '2 hours')`)
      await extend()
      assert.deepEqual(await found(), ['signature', 'signature'])
    })

    it('names an entry whose detail was taken out like an erased one, though no entry says so', async () => {
      await plant(`update activity set detail = '{}', salt = null where leaf_index = 3`)
      assert.deepEqual(await found(), ['changed 3'])
    })

    it('finds entries that get no place in the log', async () => {
      await plant(`insert into activity (vendor_id, action, subject, at)
                   values ('ven_acme', 'client.revoked', 'cli_x', now() - interval '2 minutes')`)
      assert.deepEqual(await found(), ['waiting'])
    })

    it('finds a hash that was changed with its entry, and between which heads that was', async () => {
      await plant(`update activity set subject = 'cli_x' where leaf_index = 7`)
      await plant(`update activity_tree set hash = sha256('x') where level = 0 and position = 7`)
      assert.deepEqual(await found(), ['tree 0', 'tree 4', 'tree 6', 'changed 7', 'head 5'])
    })

    it('finds a hash that proofs are made from and that is not made from the entries', async () => {
      await plant(`update activity_tree set hash = sha256('x') where level = 1 and position = 2`)
      assert.deepEqual(await found(), ['tree 4'])
      await plant('delete from activity_tree where level = 1 and position = 2')
      assert.deepEqual(await found(), ['tree 4'])
    })

    it('ends with hashes and entries that were planted far off, and names the entries', async () => {
      await plant(
        `insert into activity_tree (level, position, hash) values (0, 9007199254740990, sha256(''))`,
      )
      await plant('update activity set leaf_index = 9007199254740990 where leaf_index = 3')
      await plant('update activity set leaf_index = -5 where leaf_index = 4')
      const kinds = (await found()).filter((each) => /^(removed [34]|added -?\d+)$/.test(each))
      assert.deepEqual(kinds, ['removed 3', 'removed 4', 'added 9007199254740990', 'added -5'])
    })

    it('finds a head that was replaced, and one that nobody signed', async () => {
      await plant(`update activity_heads set tree_size = 9 where tree_size = 11`)
      assert.deepEqual(await found(), ['head 5', 'signature'])
      await plant(`delete from activity_heads where tree_size = 9`)
      await plant(`insert into activity_heads (tree_size, root_hash) select 5, root_hash from activity_heads`)
      assert.deepEqual(await found(), ['signature'])
      await plant(`update activity_heads set signed = null`)
      assert.deepEqual(await found(), ['signature'])
      await plant(`update activity_heads set signed = 'x.y.z'`)
      assert.deepEqual(await found(), ['signature', 'signature'])
    })

    it('refuses the signature of another key', async () => {
      await writeFile(at('keys.json'), JSON.stringify(await testSigner().publicKeys()))
      assert.deepEqual(await found(), ['signature', 'signature'])
    })

    it('finds a cut end by the heads, and by one that was seen elsewhere once they are gone too', async () => {
      const head = (await newestHead(operator.db)) ?? assert.fail('no head')
      const line = {
        event: 'activity.head',
        time: head.at,
        treeSize: 11,
        rootHash: head.rootHash.toString('base64url'),
      }
      await writeFile(at('audit.ndjson'), `{"event":"sign_in.failed"}\nnot JSON\n${JSON.stringify(line)}\n`)
      await exported()
      await plant('delete from activity where leaf_index >= 8')
      assert.deepEqual(await found(), ['removed 8', 'removed 9', 'removed 10'])
      await plant('delete from activity_tree where (position + 1) * 2 ^ level > 8')
      assert.deepEqual(await found(), ['cut 8'])
      await plant('delete from activity_heads where tree_size > 8')
      assert.deepEqual(await found(), [])
      for (const file of ['audit.ndjson', 'log.ndjson'])
        assert.deepEqual(await found('--seen', at(file)), ['cut 8'], file)
    })

    it('finds a restored backup that has grown again since, by a head from before', async () => {
      await exported()
      // What a backup made after the first head brings back.
      await plant('delete from activity where leaf_index >= 5')
      await plant('delete from activity_tree where (position + 1) * 2 ^ level > 5')
      await plant('delete from activity_heads where tree_size > 5')
      await appendEntries(operator.db, 9)
      await extend()
      assert.deepEqual(await found(), [])
      assert.deepEqual(await found('--seen', at('log.ndjson')), ['head 5'])
    })

    it('counts what was erased, and finds nothing wrong with it', async () => {
      const entryId = await entryAt(3)
      await plant(`insert into activity (action, subject, operator)
                   select 'person.erased', subject, 'Otto' from activity where leaf_index = 3`)
      await extend()
      await plant(`update activity set detail = '{}', salt = null where entry_id = ${entryId}`)
      await plant(`update activity set operator = 'erased', operator_salt = null where operator is not null`)
      const { code, json } = await verify()
      assert.deepEqual([code, json.faults], [0, []])
      const operators = await operator.db('activity').whereNotNull('operator').pluck('entry_id')
      assert.deepEqual(json.erased.sort(), [...operators, entryId].sort())
    })
  })

  describe('export', () => {
    it('begins with the signed head, and proves each entry, which verify --file checks without a database', async () => {
      const lines = await exported()
      assert.equal(lines.length, 12)
      assert.equal(JSON.parse(lines[0] ?? '').head.treeSize, 11)
      await operator.db.raw('delete from activity_heads')
      assert.deepEqual(await found('--file', at('log.ndjson')), [])
    })

    it('begins with the first entry since a time', async () => {
      await plant(`insert into activity (vendor_id, action, subject, at)
                   values ('ven_acme', 'client.revoked', 'cli_x', now() + interval '10 minutes')`)
      await extend()
      const since = new Date(Date.now() + 300_000).toISOString()
      const lines = await exported('late.ndjson', '--since', since)
      assert.deepEqual(
        lines.slice(1).map((line) => JSON.parse(line).subject),
        ['cli_x'],
      )
      assert.deepEqual(await found('--file', at('late.ndjson')), [])
      const later = new Date(Date.now() + 3_600_000).toISOString()
      assert.equal((await exported('none.ndjson', '--since', later)).length, 1)
      assert.deepEqual(await found('--file', at('none.ndjson')), [])
    })

    const spoilt: [what: string, spoil: (lines: string[]) => string[], expected: string[]][] = [
      [
        'a changed byte',
        (lines) => lines.map((line, i) => (i === 4 ? line.replace('cli_', 'cli-') : line)),
        ['changed 3'],
      ],
      [
        'a changed detail',
        (lines) => lines.map((line, i) => (i === 4 ? line.replace('Old', 'New') : line)),
        ['changed 3'],
      ],
      ['a removed line', (lines) => lines.toSpliced(4, 1), ['removed 3']],
      [
        'two exchanged lines',
        (lines) => [...lines.slice(0, 3), lines[4], lines[3], ...lines.slice(5)] as string[],
        ['removed 2', 'exchanged 2'],
      ],
      ['a doubled line', (lines) => lines.toSpliced(4, 0, lines[4] as string), ['exchanged 3']],
      ['a cut end', (lines) => lines.slice(0, -2), ['cut 9']],
      ['a line that is no entry', (lines) => [...lines, '{}', '[['], ['unreadable', 'unreadable']],
      [
        'a replaced head',
        ([head = '', ...rest]) => [
          head.replace(/(?<="rootHash":")./, (first) => (first === 'A' ? 'B' : 'A')),
          ...rest.slice(0, 1),
        ],
        ['changed 0', 'cut 1', 'signature'],
      ],
    ]
    for (const [what, spoil, expected] of spoilt)
      it(`is found to have ${what}`, async () => {
        const lines = await exported()
        await writeFile(at('spoilt.ndjson'), spoil(lines).join('\n'))
        assert.deepEqual(await found('--file', at('spoilt.ndjson')), expected)
      })

    it('is refused when it has no head, or cannot be read', async () => {
      await writeFile(at('empty'), '')
      await writeFile(at('other'), '{}\n')
      for (const [file, reason] of [
        ['empty', /is empty/],
        ['other', /does not begin with a head/],
        ['missing', /cannot be read: ENOENT/],
      ] as const) {
        const { code, stderr } = await verify('--file', at(file))
        assert.equal(code, 1)
        assert.match(stderr, reason)
      }
      assert.match((await operator.admin(['audit', 'verify', '--keys', at('other')])).stderr, /has no keys/)
    })
  })

  it('keeps the API from changing or removing what is in the log', async () => {
    const api = (await import('#shared/stores/postgres.ts')).createPostgres({
      url: operator.database.apiUrl,
      poolSize: 1,
      applicationName: 'test',
    })
    try {
      for (const [sql, code] of [
        ['update activity set leaf_index = 99 where leaf_index = 3', '23514'],
        ['update activity set salt = null where leaf_index = 3', '23514'],
        [`update activity set detail = '{}'`, '42501'],
        ['delete from activity', '42501'],
        [`update activity_tree set hash = sha256('')`, '42501'],
        ['delete from activity_tree', '42501'],
        ['delete from activity_heads', '42501'],
        ['select operator_salt from activity', '42501'],
      ] as const)
        await assert.rejects(
          async () => api.raw(sql),
          (error: { code?: string }) => error.code === code,
          sql,
        )
    } finally {
      await api.destroy()
    }
    assert.deepEqual(await found(), [])
  })
})
