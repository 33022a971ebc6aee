import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempDisposable, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mock } from 'node:test'
import { z } from 'zod'
import { type MailSettings, mailSettings, mailShape } from '../../apps/api/mail/settings.ts'
import { createSmtpClient } from '../../apps/api/mail/smtp.ts'
import { startMailSink } from '../../infra/local/mail-sink.ts'
import { afterwards, forEachTest } from '../support/block.ts'
import { passing } from '../support/clock.ts'

describe('the mails of the local stack', () => {
  const folder = forEachTest(() => mkdtempDisposable(join(tmpdir(), 'integration-access-mail-')))

  /** Sends mails to a new sink. Returns the names of the files. */
  async function send(...mails: { to: string; subject?: string; text: string }[]): Promise<string[]> {
    const sink = await startMailSink(join(folder.path, 'mail'))
    const values = { SMTP_URL: sink.url, MAIL_FROM: 'Acme <mail@acme.example>' }
    const client = await createSmtpClient(mailSettings(z.object(mailShape).parse(values)) as MailSettings)
    try {
      for (const mail of mails) await client.send({ mailId: randomUUID(), subject: 'Hello', ...mail })
    } finally {
      client.close()
      await sink.stop()
    }
    return (await readdir(sink.folder)).sort()
  }
  const read = (name = '') => readFile(join(folder.path, 'mail', name), 'utf8')

  it('are files of their owner, with each link on one line', async () => {
    const link = `https://localhost:8080/reset#${'x'.repeat(400)}`
    const text = `Grüße!\n\nOpen:\n${link}\n`
    const [name = '', ...others] = await send({ to: 'ada@acme.example', subject: 'Añadir', text })
    assert.match(name, /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z ada@acme\.example\.txt$/)
    assert.deepEqual(others, [])
    const fields = 'From: "Acme" <mail@acme.example>\nTo: ada@acme.example\nSubject: Añadir\n'
    assert.equal(await read(name), `${fields}\n${text}`)
    const modeOf = async (entry: string) => (await stat(join(folder.path, 'mail', entry))).mode & 0o777
    assert.deepEqual([await modeOf(name), await modeOf('')], [0o600, 0o700])
  })

  it('are two files if two go to one address within a millisecond', async () => {
    mock.timers.enable({ apis: ['Date'], now: Date.now() })
    await using _ = afterwards(async () => mock.timers.reset())
    const mail = { to: 'ada@acme.example', text: 'x' }
    assert.equal((await send(mail, mail)).length, 2)
  })

  it('stay in their folder, whatever the address', async () => {
    const [name = ''] = await send({ to: '/tmp/x/$y`z@acme.example', text: 'x' })
    assert.match(name, /^\S+Z _tmp_x_y_z@acme\.example\.txt$/)
  })

  it('keep the stack from ending for a second at most, while a client is connected', async () => {
    const sink = await startMailSink(folder.path)
    const client = connect(Number(new URL(sink.url).port), '127.0.0.1').on('error', () => {})
    await once(client, 'data')
    await passing(1_000, sink.stop)
    if (!client.closed) await once(client, 'close')
  })

  it('are the latest 500', async () => {
    const [first = ''] = await send({ to: 'ada@acme.example', text: 'x' })
    for (let index = 100; index < 605; index += 1)
      await writeFile(join(folder.path, 'mail', `2000-01-01T00-00-00.${index}Z a@b.txt`), '')
    const names = await send({ to: 'bob@acme.example', text: 'x' })
    assert.equal(names.length, 500)
    assert.ok(names.includes(first) && names.at(-1)?.includes('bob'))
    assert.ok(!names.includes('2000-01-01T00-00-00.100Z a@b.txt'))
  })
})
