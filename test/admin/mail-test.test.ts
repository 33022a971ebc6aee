import assert from 'node:assert/strict'
import { refused, runAdmin, succeeded } from '../support/admin.ts'
import { forBlock } from '../support/block.ts'
import { trustAuthority } from '../support/certificates.ts'
import { authority } from '../support/receivers.ts'
import { startSmtp } from '../support/smtp.ts'

describe('admin mail test', () => {
  forBlock(() => trustAuthority(authority))
  const smtp = forBlock(() => startSmtp())
  const send = (env: Record<string, string> = {}, address = 'ada@acme.example') =>
    runAdmin(['mail', 'test', address], {
      env: { SMTP_URL: smtp.url, MAIL_FROM: 'Acme <mail@acme.example>', ...env },
    })
  beforeEach(() => {
    smtp.fail = () => undefined
  })

  it('sends a mail and says so', async () => {
    const { stdout } = await succeeded(send())
    const { text, messageId } = await smtp.mailTo('ada@acme.example')
    assert.match(text, /^This is a test of the settings for mail/)
    assert.ok(stdout.includes(` with the Message-ID ${messageId}. `), stdout)
  })

  it('says what is wrong with the server', async () => {
    smtp.fail = (step) => (step === 'recipient' ? '550 5.1.1 No\u0007 \u001b[31msuch' : undefined)
    await refused(
      send(),
      'The mail was not sent: the mail server refuses (550). It said: 550 5.1.1 No [31msuch\n',
    )
  })

  it('says what is wrong with the settings', async () => {
    await refused(send({ SMTP_URL: '', MAIL_FROM: '' }), /^Nothing is mailed: set SMTP_URL and MAIL_FROM/, 78)
    await refused(send({ MAIL_FROM: '' }), /MAIL_FROM: is required, since SMTP_URL is set/, 78)
    await refused(send({ SMTP_URL: 'mail.example' }), /SMTP_URL: must be smtps:/, 78)
    const wrong = smtp.url.replace('p%40ss', 'wrong')
    const { stderr } = await refused(send({ SMTP_URL: wrong }), /refuses the user or the password/)
    assert.ok(!stderr.includes('wrong'))
    assert.equal(smtp.connectionsMax, 1, 'an earlier mail left its connection open')
  })
})
