import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import type { Knex } from 'knex'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { insertSession } from '../../apps/api/sessions/sessions.ts'
import { createProgram } from '../../infra/admin/program.ts'
import { osUser } from '../../infra/admin/trail.ts'
import { PASSWORD, runAdmin, startAdmin, type TestAdmin } from '../support/admin.ts'
import { forBlock } from '../support/block.ts'
import { trustAuthority } from '../support/certificates.ts'
import { insertTestClient } from '../support/companies.ts'
import { sharedFolder } from '../support/folder.ts'
import { createPlaceholders } from '../support/placeholders.ts'
import { authority } from '../support/receivers.ts'
import { recordedTexts } from '../support/recorded.ts'
import { asAdmin } from '../support/revocation.ts'
import type { TestRedis } from '../support/servers.ts'
import { startSmtp } from '../support/smtp.ts'

const ACTIVITY = ['vendor_id', 'user_id', 'operator', 'action', 'subject', 'detail']
/** What of them changed is recorded too. */
const TABLES = 'companies users memberships sessions openid_identities services oauth_clients'.split(' ')
const KIM = 'kim@acme.example'

async function readRows(db: Knex): Promise<string[]> {
  const rows = TABLES.map(async (table) =>
    (await db(table)).map((row) => {
      for (const [name, value] of Object.entries(row))
        if (Buffer.isBuffer(value)) row[name] = `${value.length} bytes`
      return `${table} ${JSON.stringify(row)}`
    }),
  )
  return (await Promise.all(rows)).flat()
}

/** The names of all commands, such as `client list`. */
function commandNames({ commands }: Pick<Command, 'commands'>, group = ''): string[] {
  return commands.flatMap((command) => {
    const name = `${group}${command.name()}`
    return command.commands.length > 0 ? commandNames(command, `${name} `) : name
  })
}

describe('npm run admin', () => {
  const folder = sharedFolder()
  forBlock(() => trustAuthority(authority))
  const smtp = forBlock(() => startSmtp())
  const { assertRecorded } = recordedTexts(new URL('answers.txt', import.meta.url), [
    // But not those that a story gives.
    [/(?!20(?:26|37)-01-31)\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::[\d.]+)?(?:Z|\+00:00)/g, 'WHEN'],
    [new RegExp(`(?<=")(?:${osUser()}|${hostname()})(?=")`, 'g'), 'ME'],
    [/(?<="pid":)\d+/g, 'PID'],
    [/\$argon2id\$[^"]+/g, '$$argon2id$$…'],
    [/(?<="version":")[\d.]+/g, 'VERSION'],
    [new RegExp(`${folder}|(?<=localhost:)\\d+`, 'g'), '…'],
  ])
  const names = commandNames(createProgram(process, async () => {}))
  const used = new Set<string>()

  type Run = (line: string, input?: string) => Promise<string>
  /** Runs commands on a database of their own. Their waits overlap with those of other stories. */
  function story(name: string, act: (run: Run, operator: TestAdmin) => Promise<unknown>): void {
    let told: ReturnType<typeof tell>
    before(() => {
      told = tell(act)
      told.catch(() => {})
    })
    it(`says and records as written: ${name}`, async () => {
      for (const [what, step] of await told) assertRecorded(`${name}: ${what}`, step)
    })
  }

  async function tell(act: (run: Run, operator: TestAdmin) => Promise<unknown>) {
    await using operator = await startAdmin({ withRedis: true, withAcme: true })
    const write = createPlaceholders()
    const steps = new Map<string, string>()
    // Those of the company that is there.
    let read = 2
    const run: Run = async (line, input) => {
      const args = line.match(/"[^"]*"|\S+/g)?.map((word) => word.replaceAll('"', '')) ?? []
      used.add(names.find((name) => `${args.join(' ')} `.startsWith(`${name} `)) ?? '')
      const env = {
        ...operator.env,
        SMTP_URL: smtp.url,
        MAIL_FROM: 'Acme <mail@acme.example>',
        INIT_CWD: folder,
      }
      const before = await readRows(operator.db)
      const { code, stdout, stderr } = await runAdmin(args, {
        env,
        input,
        atTerminal: /^(?:yes|y|no|)$/.test(input ?? PASSWORD),
      })
      const entries = await operator
        .db('activity')
        .select(ACTIVITY)
        .where('entry_id', '>', read)
        .orderBy('entry_id')
      read = (await operator.db('activity').max('entry_id as last').first())?.last ?? 0
      const records = entries.map((entry) => `+ ${JSON.stringify(entry)}`)
      const after = await readRows(operator.db)
      const gone = before.filter((row) => !after.includes(row)).map((row) => `- ${row}`)
      const added = after.filter((row) => !before.includes(row)).map((row) => `+ ${row}`)
      const changes = [...gone, ...added].map((row) => write(row)).sort()
      const errors = stderr && `${stderr.trimEnd()}\n`.replaceAll(/^/gm, '! ').slice(0, -2)
      const typed = input === undefined ? line : `${line} < ${input}`
      let what = write(typed)
      while (steps.has(what)) what += ', again'
      steps.set(
        what,
        write([stdout + errors + (code === 0 ? '' : `exit code ${code}`), ...records, ...changes].join('\n')),
      )
      return stdout
    }
    await act(run, operator)
    return steps
  }

  story('companies and their people', async (run, operator) => {
    const initech =
      'company create --name Initech --timezone America/Chicago --currency usd --vendor-id ven_initech'
    const globex =
      'company create --name "Globex Inc." --timezone UTC --currency EUR --vendor-id ven_globex --json'
    await run(`${initech} --owner-email Bill@Initech.example --owner-name "Bill L."`, PASSWORD)
    await run(`${initech} --owner-email bill@initech.example`)
    await run('company create --name Initech --timezone UTC --owner-email bill@initech.example')
    await run(`${globex} --owner-email owner@acme.example`)
    await run(`${globex} --owner-email owner@acme.example --existing-account`)
    await run(`${globex.replace('ven_globex', 'globex')} --owner-email a@b.example`)
    await run(`${globex.replace('UTC', 'Mars')} --owner-email a@b.example`)
    await run(`${globex.replace('EUR', 'EURO')} --owner-email a@b.example`)
    await run(`${globex.replace('globex', 'new')} --owner-email a@b.example`)
    await run(`${globex.replace('globex', 'new')} --owner-email nobody --owner-name X`)
    await run(`${globex.replace('globex', 'new')} --owner-email a@b.example --owner-name X`, 'short')
    await run('company list')
    await run('company list --json')
    await run(`member add ven_acme ${KIM} --name Kim --role admin`, PASSWORD)
    await run(`member add ven_acme Lee@Acme.example --name Lee --role viewer --json`, PASSWORD)
    await run(`member add ven_acme ${KIM} --name Kim --role viewer`, PASSWORD)
    await run('member add ven_acme bill@initech.example --role member')
    await run('member add ven_acme bill@initech.example --role member --new-account')
    await run('member add ven_acme bill@initech.example --role owner')
    await run('member add ven_acme bill@initech.example --role member --existing-account')
    await run(`member set-role ven_acme ${KIM} owner`)
    await run('member set-role ven_acme owner@acme.example owner --json')
    await run('member set-role ven_acme owner@acme.example member')
    await run('member set-role ven_acme nobody@acme.example member')
    for (const role of ['admin', 'viewer', 'member'])
      await run(`member set-role ven_acme lee@acme.example ${role}`)
    await run(`member set-status ven_acme ${KIM} suspended`)
    await run(`member set-role ven_acme ${KIM} owner`)
    await run(`member set-role ven_acme ${KIM} viewer`)
    await run(`--as "Ada Admin" member set-status ven_acme ${KIM} active --json`)
    await run('member list ven_acme')
    await run('member list ven_acme --json')
    await run('member list ven_none')
    await run('member add ven_acme left@acme.example --name Left --role member', PASSWORD)
    for (const email of [KIM, 'left@acme.example']) {
      const [userId] = await operator.db('users').where({ email }).pluck('user_id')
      const identity = { issuer: 'https://login.test', subject: email, user_id: userId }
      await operator.db('openid_identities').insert(identity)
      await insertSession(operator.db, { tokenHash: randomBytes(32), userId, now: new Date() })
      if (email !== KIM) await operator.db('memberships').where({ user_id: userId }).delete()
    }
    for (const who of [KIM.toUpperCase(), KIM, 'left@acme.example']) await run(`member unlink ${who}`)
    await run(`password reset ${KIM}`, 'another, longer password')
    await run(`password reset ${KIM} --json`, 'password1234')
    await run('password reset nobody@acme.example', PASSWORD)
    await run(`person export ven_acme:${KIM}`)
    await run('person export nobody@acme.example --json')
    for (const who of ['nobody@acme.example', 'usr_nobody', 'ven_acme:nobody@acme.example'])
      await run(`person erase ${who} --yes`)
    await run('person erase owner@acme.example --yes')
    await run(`person erase ${KIM}`)
    await run(`person erase ${KIM}`, 'yes')
    await run('person erase lee@acme.example --yes --json')
    await run('company erase ven_none --yes')
    await insertTestClient(operator.db, { vendorId: 'ven_acme', name: 'Shop' })
    for (const typed of [undefined, '', 'y', 'no', 'yes']) await run('company erase ven_acme', typed)
  })

  story('clients, services and keys', async (run, operator) => {
    const createdAt = new Date('2026-01-31T09:00:00Z')
    const { clientId } = await insertTestClient(operator.db, {
      vendorId: 'ven_acme',
      name: 'Shop',
      authenticatesBy: { publicKey: { kty: 'OKP' }, keyThumbprint: 'k'.repeat(43) },
      createdAt,
      expiresAt: new Date('2037-01-31T09:00:00Z'),
    })
    const { user_id: createdBy } = await operator.db('users').first()
    await insertTestClient(operator.db, { vendorId: 'ven_acme', name: 'Feed', createdBy })
    await run('client list ven_acme')
    await run('client list ven_none')
    await run('client list ven_acme --status Lost')
    const [, serviceId = ''] = /(svc_\w+)/.exec(await run('service create --name Boost')) ?? []
    for (const name of ['', 'x'.repeat(101), 'a\u202Eb']) await run(`service create --name "${name}" --json`)
    await run('service create --name Ads --json')
    await run('service list')
    await run('service list --json')
    await run(`service revoke ${serviceId}`)
    await run(`service revoke ${serviceId}`, 'yes')
    await run(`service revoke ${serviceId} --yes --json`)
    await run('service revoke svc_none --yes --json')
    await run('key list')
    await run('key rotate')
    await run('key list --json')
    await operator.db.raw(`update signing_keys set created_at = created_at - interval '11 minutes'`)
    await run('key rotate --alg RS256')
    await run('key rotate --alg X')
    await run('key list')
    await run('key reencrypt')
    const [kid = ''] = await operator.db('signing_keys').whereNull('activates_at').pluck('kid')
    await run(`key revoke ${kid}`, 'no')
    await run('key revoke no-such-key --yes')
    await run(`client revoke ven_acme ${clientId}`, 'yes')
    await run('client revoke ven_acme cli_none --yes')
    await run('client list ven_acme --status Revoked')
    await run('client list ven_acme --json')
    await run('client list ven_acme --status Active')
    await run(`key revoke ${kid} --yes`)
    await run('key list')
  })

  story('the database and its log', async (run, operator) => {
    const { clientId } = await insertTestClient(operator.db, { vendorId: 'ven_acme', name: 'Shop' })
    await asAdmin(operator.redis as TestRedis, (redis) =>
      redis.set(redisKeys.revoked('client', clientId), '1'),
    )
    const event = { eventId: 'a', type: 'click', occurredAt: '2020-01-01T12:00:00Z' }
    const lines = [event, event, { ...event, eventId: 'b', type: 'x' }, 'x'].map((line) =>
      JSON.stringify(line),
    )
    await writeFile(join(folder, 'events.ndjson'), `${lines.join('\n')}\n{\n`)
    await run('analytics import events.ndjson --company ven_acme')
    await run('analytics import events.ndjson --company ven_acme --json')
    await run('analytics import none.ndjson --company ven_acme')
    await run('analytics import events.ndjson')
    const log = await run('audit export')
    await run('audit export --since 2099-01-01T00:00:00Z')
    await run('audit export --since yesterday')
    const logged = log
      .trim()
      .split('\n')
      .map((line) => JSON.stringify({ event: 'activity', ...JSON.parse(line) }))
    await writeFile(join(folder, 'log.ndjson'), logged.join('\n'))
    await run('audit compare log.ndjson')
    await writeFile(join(folder, 'log.ndjson'), logged.slice(1).join('\n').replace('ven_acme', 'ven_other'))
    await run('audit compare log.ndjson')
    await run('audit compare log.ndjson --json')
    await run('audit compare none.ndjson')
    await run('restore status')
    await run('restore fence --since yesterday')
    await run('restore fence --since 2026-01-31T09:00:00Z')
    await run('restore fence --since 2026-01-31T09:00:00Z', 'yes')
    await run('restore fence --since 2026-01-31T09:00:00Z --yes --json')
    await operator.db('restore_fences').update({ raised_at: '2026-01-31T09:00:00Z' })
    await run('restore status')
    await run('restore status --json')
    await run('restore confirm')
    await operator.db('revocation_trust').update({ place: 'another/1/1' })
    await run('restore status')
    await run('restore confirm --json')
  })

  story('settings and mail', async (run) => {
    await run('redis-users')
    await run('redis-users --sentinel')
    await run('redis-users --sentinel --json')
    await run('config reference --json')
    await run('mail test ada@acme.example')
    await run('mail test ada@acme.example --json')
    await run('mail test ada')
    await run('clients destroy')
    await run('--as "" company list')
  })

  story('help', async (run) => {
    for (const name of ['', ...new Set(names.flatMap((name) => [name.split(' ')[0] as string, name]))])
      await run(`${name} --help`.trim())
  })

  it('is run with each of its commands', () => {
    const missing = names.filter((name) => !used.has(name))
    assert.deepEqual(missing, [])
  })
})
