import assert from 'node:assert/strict'
import { mock } from 'node:test'
import Connection from 'nodemailer/lib/smtp-connection'
import { z } from 'zod'
import { createMetrics } from '#shared/process/metrics.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { newUserId } from '../../../apps/api/accounts/new-ids.ts'
import { unusableHash } from '../../../apps/api/accounts/passwords.ts'
import { insertUser, type Membership, saveMembership } from '../../../apps/api/accounts/people.ts'
import { IS_URGENT, type MailDetails, type MailKind } from '../../../apps/api/mail/kinds.ts'
import { addMail, claimMails, mailManagers } from '../../../apps/api/mail/outbox.ts'
import { createMailSender } from '../../../apps/api/mail/send.ts'
import { type MailSettings, mailSettings, mailShape } from '../../../apps/api/mail/settings.ts'
import { createSmtpClient, SMTP_TIMINGS } from '../../../apps/api/mail/smtp.ts'
import { startApi } from '../../support/api.ts'
import { forBlock, forEachTest } from '../../support/block.ts'
import { trustAuthority } from '../../support/certificates.ts'
import { freshDatabase } from '../../support/database.ts'
import { eventually } from '../../support/eventually.ts'
import { createTestLog } from '../../support/log.ts'
import { authority, strangeAuthority } from '../../support/receivers.ts'
import { type SmtpFailure, type SmtpOptions, type SmtpStep, startSmtp } from '../../support/smtp.ts'

/** For a server that does not answer. */
const SHORT = { connect_ms: 1_500, reply_ms: 1_500, mail_ms: 3_000, check_ms: 2_500 }
const DAY_S = 86_400
const TEXT = 'Nightly import'
const CLIENT = { clientId: 'cli_a', name: TEXT }
const NOW = '2026-11-29T00:00:00.000Z'
/** Of the kinds that these tests send. */
const DETAILS = {
  secret_found: { client: CLIENT, foundAt: NOW, willBeRevoked: false },
  password_changed: { at: NOW, by: 'person' },
  clients_expire: { clients: [{ ...CLIENT, expiresAt: NOW }] },
} satisfies Partial<MailDetails>

function readMailSettings(url: string): MailSettings {
  const values = z.object(mailShape).parse({ SMTP_URL: url, MAIL_FROM: 'Acme <mail@acme.example>' })
  return mailSettings(values) as MailSettings
}

describe('the sender of mails', () => {
  const database = freshDatabase()
  forBlock(() => trustAuthority(authority))

  const MAIL = {
    kind: 'secret_found' as keyof typeof DETAILS,
    age_s: 0,
    attempts: 0,
    role: 'owner' as Membership['role'],
    status: 'active' as Membership['status'],
  }

  /** Stores a person with a mail to them. Returns both ids. */
  async function addPersonAndMail(given: Partial<typeof MAIL> = {}) {
    const { kind, role, status, age_s, attempts } = { ...MAIL, ...given }
    const vendorId = await database.createCompany()
    const userId = newUserId()
    const email = `${userId.toLowerCase()}@acme.example`
    await insertUser(database.owner, { userId, email, name: 'Ada', passwordHash: unusableHash() })
    await saveMembership(database.owner, { vendorId, userId, role, status })
    await addMail(database.api, kind, { topic: 'a', userId, vendorId, detail: DETAILS[kind] })
    const { rows } = await database.owner.raw(
      `update mails set created_at = now() - make_interval(secs => ?), attempts = ? where user_id = ?
       returning mail_id as "mailId"`,
      [age_s, attempts, userId],
    )
    return { userId, vendorId, email, mailId: rows[0].mailId as string }
  }

  function createSender(
    smtp: { url: string },
    { db = database.api as Database, timings = SMTP_TIMINGS } = {},
  ) {
    const { log, lines } = createTestLog()
    const metrics = createMetrics({ service: 'api' })
    const settings = readMailSettings(smtp.url)
    const fixed = { baseUrl: 'https://api.test', findAddressees: {} }
    const sender = createMailSender({ settings, db, log, metrics, timings, ...fixed })
    return {
      ...sender,
      send: () => sender.sendDue(() => false),
      events: () => lines.map(({ event }) => event),
      lines,
      metric: async (name: string) => (await metrics.registry.getSingleMetric(name)?.get())?.values ?? [],
      [Symbol.asyncDispose]: sender.stop,
    }
  }

  const smtp = forEachTest(() => startSmtp({ tls: 'none', login: 'none' }))
  const sender = forEachTest(() => createSender(smtp))

  /** What is stored of the mails: whether they wait, until when, and how often they were tried. */
  async function readMails() {
    const { rows } = await database.owner.raw(
      `select due_at is not null as waits, attempts, sender is not null as "isClaimed",
         round(extract(epoch from due_at - now()))::int as due_s
       from mails order by created_at`,
    )
    return rows as { waits: boolean; attempts: number; isClaimed: boolean; due_s: number | null }[]
  }

  it('sends a mail with the headers of an automatic one, once', async () => {
    await using smtp = await startSmtp()
    await using sender = createSender(smtp)
    const { email, mailId, userId } = await addPersonAndMail()
    await sender.send()
    await sender.send()
    const { envelopeFrom, from, messageId, header, text, html, subject } = await smtp.mailTo(email)
    assert.deepEqual([envelopeFrom, from], ['mail@acme.example', '"Acme" <mail@acme.example>'])
    assert.equal(messageId, `<${mailId}@acme.example>`)
    const headers = ['auto-submitted', 'x-auto-response-suppress', 'x-mailer'].map(header)
    assert.deepEqual(headers, ['auto-generated', 'All', ''])
    assert.ok(html && subject && text.includes(TEXT))
    assert.equal(smtp.mails.length, 1)
    const { time, pid, hostname, level, ...line } = sender.lines[0] as Record<string, unknown>
    assert.deepEqual(line, { event: 'mail.sent', mailId, kind: 'secret_found', userId, msg: 'mail sent' })
    const { rows } = await database.owner.raw('select due_at, sender, detail, attempts from mails')
    assert.deepEqual(rows, [{ due_at: null, sender: null, detail: {}, attempts: 1 }])
  })

  it('sends urgent mails first, and at most about three a second', async () => {
    for (let index = 0; index < 6; index += 1) await addPersonAndMail({ kind: 'clients_expire' })
    const { email } = await addPersonAndMail({ kind: 'password_changed' })
    const start = performance.now()
    await sender.send()
    assert.deepEqual([smtp.mails[0]?.to, smtp.mails.length], [email, 7])
    assert.ok(performance.now() - start > 3 * 650 - 20, 'faster than three a second')
    assert.ok(smtp.connectionsMax <= 2, `${smtp.connectionsMax} connections`)
  })

  it('takes first what somebody waits for, and what warns of a stranger', async () => {
    for (const kind of Object.keys(IS_URGENT).toReversed() as MailKind[])
      await addMail(database.api, kind, { topic: 'a', userId: newUserId(), detail: {} as never })
    const first = await claimMails(database.api, { sender: crypto.randomUUID(), limit: 6 })
    const waited = 'invitation password_reset password_reset_request sign_in_with_provider'.split(' ')
    const warnings = ['password_changed', 'secret_found']
    assert.deepEqual(first.map(({ kind }) => kind).sort(), [...waited, ...warnings].sort())
  })

  describe('looks up who gets a mail when it is sent', () => {
    const CASES: [who: string, mail: Partial<typeof MAIL>, isSent: boolean, change?: string][] = [
      ['an admin', { role: 'admin' }, true],
      ['a member', { role: 'member' }, false],
      ['a viewer', { role: 'viewer' }, false],
      ['a suspended admin', { role: 'admin', status: 'suspended' }, false],
      ['someone who was removed', {}, false, 'delete from memberships'],
      ['the owner of an erased company', {}, false, 'update companies set erased_at = now()'],
      ['an account', { kind: 'password_changed', role: 'member' }, true],
      ['a closed account', { kind: 'password_changed' }, false, 'update users set email = null'],
    ]
    for (const [who, mail, isSent, change] of CASES)
      it(`${isSent ? 'sends' : 'does not send'} ${mail.kind ?? 'what managers get'} to ${who}`, async () => {
        await addPersonAndMail(mail)
        if (change) await database.owner.raw(change)
        await sender.send()
        assert.equal(smtp.mails.length, isSent ? 1 : 0)
        assert.equal((await readMails())[0]?.waits, false)
      })
  })

  /** A mail of which the server says so waits for a minute, alone. */
  const ITS_OWN = { waits: true, attempts: 1, isClaimed: false, due_s: 60 }
  /** The server fails: nothing is sent for half a minute, and the mail keeps its place. */
  const PAUSED = { waits: true, attempts: 0, isClaimed: true, due_s: 30 }
  const GIVEN_UP = { waits: false, attempts: 1, isClaimed: false, due_s: null }

  const FAILURES: [step: SmtpStep, failure: SmtpFailure, after: typeof ITS_OWN | typeof GIVEN_UP][] = [
    ['greeting', 'hang', PAUSED],
    ['greeting', '421 4.3.2 Closing', PAUSED],
    ['login', '454 4.7.0 Temporary', PAUSED],
    ['login', '535 5.7.8 Bad credentials', PAUSED],
    ['sender', '550 5.7.60 Not allowed to send as this', ITS_OWN],
    ['recipient', '421 4.7.0 Try later', ITS_OWN],
    ['recipient', '450 4.2.0 Greylisted', ITS_OWN],
    ['recipient', '550 No such user', ITS_OWN],
    ['recipient', '550 5.1.1 No such user', GIVEN_UP],
    ['recipient', '553 5.1.2 No such host', GIVEN_UP],
    ['recipient', '556 5.1.10 Takes no mail', GIVEN_UP],
    ['recipient', '450 4.1.1 Not yet', ITS_OWN],
    ['message', 'drip', ITS_OWN],
    ['message', 'drop', ITS_OWN],
    ['message', '554 5.6.0 Spam', ITS_OWN],
  ]
  for (const [step, failure, after] of FAILURES) {
    const outcome = after === PAUSED ? 'pauses' : after === GIVEN_UP ? 'gives up the mail' : 'tries it later'
    it(`${outcome} if the server fails with ${failure} at the ${step}`, async () => {
      await using smtp = await startSmtp()
      await using sender = createSender(smtp, /hang|drip/.test(failure) ? { timings: SHORT } : {})
      const { email, mailId, userId } = await addPersonAndMail()
      smtp.fail = (at) => (at === step ? failure : undefined)
      await sender.send()
      const [{ due_s = 0, ...mail } = {}] = await readMails()
      assert.deepEqual({ ...mail, due_s: due_s && Math.round(due_s / 10) * 10 }, after)
      const text = JSON.stringify(sender.lines)
      for (const secret of [email, TEXT, 'p@ss/word', 'p%40ss', 'Go away', 'No such'])
        assert.ok(!text.includes(secret), `the log has ${secret}`)
      const reply = Number(failure.slice(0, 3))
      if (after === GIVEN_UP)
        assert.partialDeepStrictEqual(sender.lines[0], { mailId, kind: 'secret_found', userId, reply })
      const logged = after === PAUSED ? ['mail.unusable'] : after === GIVEN_UP ? ['mail.given_up'] : []
      assert.deepEqual(sender.events(), logged)
      // Providers lock an account that tries its password again.
      if (step === 'login') assert.equal(smtp.steps.login, 1)

      // The failure ends: what waits is sent, with the same id.
      smtp.fail = () => undefined
      await database.owner.raw('update mails set due_at = now() where due_at is not null')
      await sender.send()
      const sent = smtp.mails.map(({ messageId }) => messageId)
      assert.deepEqual(sent, after === GIVEN_UP ? [] : [`<${mailId}@acme.example>`])
      if (after === PAUSED) assert.deepEqual(sender.events(), ['mail.unusable', 'mail.usable', 'mail.sent'])
    })
  }

  it('pauses if the server that refuses a mail with 421 greets no one any more', async () => {
    await using smtp = await startSmtp()
    await using sender = createSender(smtp)
    await addPersonAndMail()
    smtp.fail = (step) => (step === 'message' || smtp.steps.message > 0 ? '421 4.3.2 Closing' : undefined)
    await sender.send()
    assert.partialDeepStrictEqual(await readMails(), [{ attempts: 0, isClaimed: true }])
    assert.deepEqual(sender.events(), ['mail.unusable'])
  })

  const ADDRESSES: [address: string, recipient: string | undefined][] = [
    ["o'neil+x@acme.example", "o'neil+x@acme.example"],
    ['a@bücher.example', 'a@bücher.example'],
    [`${'a'.repeat(64)}@${'b'.repeat(63)}.example`, `${'a'.repeat(64)}@${'b'.repeat(63)}.example`],
    ['a,b@acme.example', undefined],
    ['group:b@acme.example', undefined],
    ['a(b)@acme.example', undefined],
    ['<a>@acme.example', undefined],
    ['a@acme.example>size=1', undefined],
    ['a@[127.0.0.1]', undefined],
  ]
  for (const [address, recipient] of ADDRESSES)
    it(`sends to ${address.slice(0, 40)} alone, or to no one`, async () => {
      await addPersonAndMail()
      await database.owner.raw('update users set email = ?', [address.toLowerCase()])
      const recipients: string[] = []
      smtp.fail = (step, to) => void (step === 'recipient' && recipients.push(to))
      await sender.send()
      assert.deepEqual(recipients, recipient ? [recipient] : [])
      assert.deepEqual(sender.events(), [recipient ? 'mail.sent' : 'mail.given_up'])
    })

  it('waits 1, 2, 4 … 60 minutes between the attempts at one mail', async () => {
    smtp.fail = (step) => (step === 'recipient' ? '450 4.2.0 Greylisted' : undefined)
    await addPersonAndMail()
    const delays: number[] = []
    for (const attempts of [0, 1, 2, 3, 4, 5, 6, 7, 60]) {
      await database.owner.raw('update mails set due_at = now(), attempts = ?', [attempts])
      await sender.send()
      delays.push(Math.round(((await readMails())[0]?.due_s ?? 0) / 60))
    }
    assert.deepEqual(delays, [1, 2, 4, 8, 16, 32, 60, 60, 60])
  })

  it('sends a mail that was put off after what was written down by then, also for its company', async () => {
    smtp.fail = (step) => (step === 'recipient' ? '450 4.2.0 Greylisted' : undefined)
    const { vendorId, email } = await addPersonAndMail()
    await sender.send()
    const detail = DETAILS.secret_found
    for (let index = 0; index < 5; index += 1)
      if (index === 2) await mailManagers(database.api, 'secret_found', [{ vendorId, topic: 'b', detail }])
      else await addPersonAndMail()
    smtp.fail = () => undefined
    await database.owner.raw('update mails set due_at = now()')
    await sender.send()
    const isOwn = smtp.mails.map(({ to }) => to === email)
    assert.deepEqual([isOwn.length, isOwn.indexOf(true) <= 2, isOwn.at(-1)], [6, true, true])
  })

  it('gives a mail up that failed for two days, and says so', async () => {
    smtp.fail = (step) => (step === 'message' ? 'hang' : undefined)
    await addPersonAndMail({ age_s: 2 * DAY_S + 1, attempts: 50 })
    await sender.send()
    assert.equal((await readMails())[0]?.waits, false)
    assert.deepEqual(sender.events(), ['mail.given_up'])
    const counts = await sender.metric('integration_mails_given_up_total')
    assert.equal(counts.find(({ labels }) => labels.kind === 'secret_found')?.value, 1)
    assert.equal(smtp.steps.greeting, 0)
  })

  it('sends all mails within a minute after the server was away for 45 hours', async () => {
    await using smtp = await startSmtp()
    await using sender = createSender(smtp)
    for (let index = 0; index < 4; index += 1) await addPersonAndMail()
    await smtp.stop()
    for (let time = 0; time < 3; time += 1) {
      for (let round = 0; round < 3; round += 1) {
        await database.owner.raw(`update mails set due_at = least(due_at, now())`)
        await sender.send()
      }
      await database.owner.raw(`update mails set created_at = created_at - interval '15 hours'`)
    }
    const mails = await readMails()
    assert.ok(mails.every(({ waits, attempts, due_s }) => waits && attempts === 0 && (due_s ?? 99) <= 30))
    // While one pauses, none is tried.
    const connections = smtp.steps.greeting
    await smtp.start()
    await sender.send()
    assert.equal(smtp.steps.greeting, connections)
    await database.owner.raw(`update mails set due_at = due_at - interval '30 seconds'`)
    await sender.send()
    assert.equal(smtp.mails.length, 4)
  })

  it('sends each mail once if two processes send', async () => {
    await using one = createSender(smtp, { db: database.connect('api', { poolSize: 3 }) })
    await using other = createSender(smtp, { db: database.connect('api', { poolSize: 3 }) })
    for (let index = 0; index < 12; index += 1) await addPersonAndMail()
    await eventually(async () => {
      await Promise.all([one.send(), other.send()])
      return (await readMails()).every(({ waits }) => !waits)
    })
    const ids = new Set(smtp.mails.map(({ messageId }) => messageId))
    assert.deepEqual([ids.size, smtp.mails.length], [12, 12])
  })

  it('repeats a mail with the same Message-ID after an end between acceptance and commit', async () => {
    const db = database.connect('api', { poolSize: 1, connectTimeout_ms: 5_000 })
    const ending = createSender(smtp, { db })
    await addPersonAndMail()
    smtp.fail = (step) => void (step === 'message' && db.destroy())
    await assert.rejects(ending.send())
    smtp.fail = () => undefined
    await using next = createSender(smtp)
    await next.send()
    assert.equal(smtp.mails.length, 1, 'the claim of the first lasts')
    await database.owner.raw('update mails set due_at = now()')
    await next.send()
    await next.send()
    const ids = smtp.mails.map(({ messageId }) => messageId)
    assert.deepEqual(ids, [ids[0], ids[0]])
  })

  it('sends nothing from a restored database until that is confirmed', async () => {
    await addPersonAndMail()
    await database.owner('restore_fences').insert({ reason: 'a test' })
    await sender.send()
    assert.equal(smtp.mails.length, 0)
    await database.owner('restore_fences').update({ lowered_at: new Date() })
    await sender.send()
    assert.equal(smtp.mails.length, 1)
  })

  it('changes nothing of a mail that another process has sent since', async () => {
    await using stopped = createSender(smtp, { timings: SHORT })
    await using other = createSender(smtp)
    await addPersonAndMail()
    smtp.fail = (step) => (step === 'message' && smtp.steps.message === 1 ? 'hang' : undefined)
    const round = stopped.send()
    await eventually(() => smtp.steps.message === 1)
    assert.ok(((await readMails())[0]?.due_s ?? 0) > 80, 'a mail and a check may take 80 s')
    await database.owner.raw('update mails set due_at = now()')
    await other.send()
    await round
    assert.deepEqual(await readMails(), [{ waits: false, attempts: 2, isClaimed: false, due_s: null }])
    assert.equal(smtp.mails.length, 1)
  })

  it('goes on after a mail that cannot be written, and tries it later', async () => {
    for (const _ of [1, 2, 3]) await addPersonAndMail()
    const isLater = 'turn_at > (select min(turn_at) from mails)'
    await database.owner.raw(`update mails set detail = '{}' where ${isLater}`)
    await assert.rejects(sender.send(), ({ errors }) => errors.length === 2)
    await addPersonAndMail()
    await sender.send()
    assert.equal(smtp.mails.length, 2)
    const later = { waits: true, attempts: 1, isClaimed: false }
    assert.partialDeepStrictEqual((await readMails()).slice(1, 3), [later, later])
  })

  it('does not let the many mails of a company hold up those of others', async () => {
    const { vendorId } = await addPersonAndMail()
    const notices = [...'bcdefgh'].map((topic) => ({ vendorId, topic, detail: DETAILS.secret_found }))
    await mailManagers(database.api, 'secret_found', notices)
    const { email } = await addPersonAndMail()
    await sender.send()
    const place = smtp.mails.findIndex(({ to }) => to === email)
    assert.ok(place >= 0 && place <= 2, `${place}`)
    assert.equal(smtp.mails.length, 9)
  })

  it('ends once a mail under way was accepted', async () => {
    await addPersonAndMail()
    smtp.pause_ms = 1_000
    let ending = false
    const round = sender.sendDue(() => ending)
    await eventually(() => smtp.steps.message === 1)
    ending = true
    await sender.stop()
    await round
    assert.deepEqual([smtp.mails.length, (await readMails())[0]?.waits], [1, false])
  })

  it('ends within seconds while a mail hangs, and leaves it to the next process', async () => {
    const sender = createSender(smtp)
    await addPersonAndMail()
    smtp.fail = (step) => (step === 'message' ? 'hang' : undefined)
    let ending = false
    const round = sender.sendDue(() => ending)
    await eventually(() => smtp.steps.message === 1)
    ending = true
    const start = performance.now()
    await sender.stop()
    await round
    // Not the thirty that it waits for a reply.
    assert.ok(performance.now() - start < 20_000)
    assert.equal((await readMails())[0]?.waits, true)
    smtp.fail = () => undefined
    await using next = createSender(smtp)
    await next.send()
    assert.equal(smtp.mails.length, 1)
  })

  it('measures what waits, and counts what was sent', async () => {
    await addPersonAndMail({ age_s: 100 })
    await addPersonAndMail()
    const waiting = async () => {
      const [oldest] = await sender.metric('integration_mail_oldest_waiting_seconds')
      return Math.round((oldest?.value ?? -1) / 10) * 10
    }
    assert.equal(await waiting(), 100)
    await sender.send()
    assert.equal(await waiting(), 0)
    const counts = await sender.metric('integration_mails_sent_total')
    assert.equal(counts.length, 10)
    assert.equal(counts.find(({ labels }) => labels.kind === 'secret_found')?.value, 2)
  })

  describe('at the start', () => {
    const REFUSED =
      'the certificate of the mail server is refused (NODE_EXTRA_CA_CERTS can name its authority):'
    const LOGIN = 'the mail server refuses the user or the password of SMTP_URL'
    const NO_TLS = 'the port of SMTP_URL does not begin with TLS: smtp:// is for port 587, smtps:// for 465'
    const NO_LISTENER =
      'nothing listens at the host and port of SMTP_URL, or it refuses connections from here'
    const NO_STARTTLS = 'the mail server does not offer STARTTLS (500): try smtps:// with port 465'
    const NO_ANSWER = 'no mail server answers in time at the host and port of SMTP_URL'
    const names = ['mail.example']
    /** The last two of a row: what is replaced in the SMTP_URL of the server, and by what. */
    const CASES: [what: string, options: SmtpOptions, sentence?: string, ...change: [RegExp, string] | []][] =
      [
        ['a server that takes mails', {}],
        ['a server with STARTTLS', { tls: 'starttls' }],
        ['a loopback server without TLS', { tls: 'none' }],
        ['a wrong password', {}, `${LOGIN} (535)`, /p%40ss/, 'wrong'],
        ['a password for a server without login', { login: 'none' }, `${LOGIN} (500)`, /\/\//, '//a:secret@'],
        ['a certificate for another name', { names }, `${REFUSED} wrong host`],
        ['another name after STARTTLS', { tls: 'starttls', names }, `${REFUSED} wrong host`],
        ['an unknown authority', { issuer: strangeAuthority }, `${REFUSED} unknown issuer`],
        ['no such host', {}, 'the host of SMTP_URL was not found', /localhost/, 'nowhere.invalid'],
        ['a port where nothing listens', {}, NO_LISTENER, /\d+$/, '1'],
        ['a server without STARTTLS', { tls: 'none' }, NO_STARTTLS, /localhost/, '[::ffff:127.0.0.1]'],
        ['smtps:// at a port that begins without TLS', { tls: 'none' }, NO_TLS, /smtp:/, 'smtps:'],
        ['smtp:// at a port that begins with TLS', {}, NO_ANSWER, /smtps:/, 'smtp:'],
      ]
    for (const [what, options, sentence, part = '', replacement = ''] of CASES)
      it(`says whether mail can be sent with ${what}`, async () => {
        await using smtp = await startSmtp(options)
        const timings = sentence === NO_ANSWER ? SHORT : SMTP_TIMINGS
        await using sender = createSender({ url: smtp.url.replace(part, replacement) }, { timings })
        await sender.check()
        assert.deepEqual(sender.events(), sentence ? ['mail.unusable'] : [])
        if (sentence) assert.equal(sender.lines[0]?.msg, `mail cannot be sent: ${sentence}`)
        await addPersonAndMail()
        await sender.send()
        assert.equal(smtp.mails.length, sentence ? 0 : 1)
        // Said once, and nothing is lost.
        assert.equal(sender.lines.length, 1)
        assert.equal((await readMails())[0]?.waits, sentence !== undefined)
      })
  })
})

describe('the time that a mail server has in production', () => {
  afterEach(() => mock.restoreAll())

  it('is 10 s to greet, 30 s for a reply, 60 s for a mail, and 20 s for a check', async () => {
    const connecting: Connection[] = []
    mock.method(Connection.prototype, 'connect', function connect(this: Connection) {
      connecting.push(this)
    })
    const over = new AbortController()
    const { mock: timeout } = mock.method(AbortSignal, 'timeout', () => over.signal)
    const smtp = await createSmtpClient(readMailSettings('smtp://127.0.0.1:1'))
    const message = { mailId: 'a', to: 'a@acme.example', subject: TEXT, text: TEXT }
    const ends = Promise.allSettled([smtp.check(), smtp.send(message)])
    await eventually(() => connecting.length === 2)
    const [connect_ms, reply_ms] = [10_000, 30_000]
    for (const { options } of connecting)
      assert.partialDeepStrictEqual(options, {
        dnsTimeout: connect_ms,
        connectionTimeout: connect_ms,
        greetingTimeout: connect_ms,
        socketTimeout: reply_ms,
      })
    const limits_ms = timeout.calls.map((call) => call.arguments[0])
    assert.deepEqual(limits_ms, [20_000, 60_000])
    over.abort()
    for (const { status } of await ends) assert.equal(status, 'rejected')
    smtp.close()
  })
})

describe('the API while the mail server hangs', () => {
  it('answers as always, ends in time, and logs nothing secret', async () => {
    await using smtp = await startSmtp({ tls: 'none', login: 'none' })
    smtp.fail = () => 'hang'
    const SMTP_URL = smtp.url.replace('//', '//mailer:p%40ss%2Fword@')
    const api = await startApi({ env: { SMTP_URL, MAIL_FROM: 'mail@acme.example' } })
    const owner = await api.createOwner()
    const detail = { at: NOW, by: 'person' } as const
    await addMail(api.apiDb, 'password_changed', { topic: 'a', userId: owner.userId, detail })
    await eventually(() => smtp.steps.greeting >= 2)
    const start = performance.now()
    const body = { email: 'new@acme.example', name: 'New', role: 'member' }
    assert.equal((await owner.request('POST', 'people', { body })).status, 201)
    assert.equal((await api.request('GET', '/v1/session', { token: owner.sessionToken })).status, 200)
    // Not the ten that a mail waits for a greeting.
    assert.ok(performance.now() - start < 8_000)
    const { rows } = await api.db.raw('select from mails where sender is not null and due_at > now()')
    assert.equal(rows.length, 1, 'no mail hangs')
    const ending = performance.now()
    await api.stop()
    assert.ok(performance.now() - ending < 8_000)
    const log = api.logLines.join('')
    for (const secret of [owner.email, 'p@ss/word', 'p%40ss']) assert.ok(!log.includes(secret), secret)
  })
})
