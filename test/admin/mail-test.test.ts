import assert from 'node:assert/strict'
import { refused, runAdmin, succeeded } from '../support/admin.ts'
import { forBlock } from '../support/block.ts'
import { trustAuthority } from '../support/certificates.ts'
import { authority } from '../support/receivers.ts'
import { type SmtpFailure, type SmtpStep, startSmtp } from '../support/smtp.ts'

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
    const mail = await smtp.mailTo('ada@acme.example')
    assert.match(mail.text, /^This is a test of the settings for mail/)
    assert.equal(
      stdout,
      `localhost:${smtp.port} accepted a mail from mail@acme.example to ada@acme.example, with the ` +
        `Message-ID ${mail.messageId}. If it does not arrive, look for it in the provider's log.\n`,
    )
  })

  const FAILURES: [step: SmtpStep, failure: SmtpFailure, sentence: string][] = [
    [
      'login',
      '535 5.7.8 Bad credentials',
      'the mail server refuses the user or the password of SMTP_URL (535). It said: 535 5.7.8 Bad credentials',
    ],
    [
      'recipient',
      '550 5.1.1 No\u0007 \u001b[31msuch',
      'the mail server refuses (550). It said: 550 5.1.1 No [31msuch',
    ],
    ['message', 'drop', 'the mail server closed the connection.'],
  ]
  for (const [step, failure, sentence] of FAILURES)
    it(`says what is wrong if the server fails with ${JSON.stringify(failure)} at the ${step}`, async () => {
      smtp.fail = (at) => (at === step ? failure : undefined)
      await refused(send(), `The mail was not sent: ${sentence}\n`)
    })

  it('says what is wrong with the settings', async () => {
    await refused(send({ SMTP_URL: '', MAIL_FROM: '' }), /^Nothing is mailed: set SMTP_URL and MAIL_FROM/, 78)
    await refused(send({ MAIL_FROM: '' }), /MAIL_FROM: is required, since SMTP_URL is set/, 78)
    await refused(send({ SMTP_URL: 'mail.example' }), /SMTP_URL: must be smtps:/, 78)
    await refused(send({}, 'nobody'), 'That is not an email address.\n')
    const wrong = smtp.url.replace('p%40ss', 'wrong')
    const { stderr } = await refused(send({ SMTP_URL: wrong }), /refuses the user or the password/)
    assert.ok(!stderr.includes('wrong'))
  })
})
