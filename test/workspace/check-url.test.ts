import { strict as assert } from 'node:assert'
import { createAddressRule } from '../../apps/api/callbacks/address-verdict.ts'
import { judgeCallbackUrl } from '../../apps/api/callbacks/url-verdict.ts'
import { checkUrl } from '../../apps/workspace/src/webhooks/check-url.ts'
import { ACCEPTED } from '../api/callbacks/accepted-urls.ts'
import { REFUSED } from '../api/callbacks/refused-urls.ts'

const ON_THE_WAY = [
  'https://hooks.acme.com:8443/events?source=shop&keyword=a&signatures=b',
  'https://8.8.8.8/a',
  'https://100.20.30.40/a',
  'https://[2606:4700::1]/a',
  'https://hooks.mailgun.com/',
  'https://localhost.com/',
  'https://hooks.example.com/',
]
const judgeAddress = createAddressRule()

describe('workspace: a callback URL while it is typed', () => {
  it('never calls a URL wrong that the service accepts', () => {
    const wronged = ACCEPTED.map(([typed]) => typed).filter(
      (typed) => checkUrl(typed, { whole: true }).state !== 'fine',
    )
    assert.deepEqual(wronged, [])
  })

  it('calls a URL wrong only if the service refuses it', () => {
    let told = 0
    for (const typed of Object.values(REFUSED).flat()) {
      const check = typeof typed === 'string' ? checkUrl(typed, { whole: true }) : { state: 'fine' as const }
      if (check.state !== 'wrong') continue
      told++
      const verdict = judgeCallbackUrl(typed, judgeAddress)
      assert.equal(verdict.ok, false, JSON.stringify(typed))
    }
    assert.ok(told > 100, `${told} told`)
  })

  it('does not call the beginning of a right URL wrong', () => {
    for (const whole of ON_THE_WAY) {
      for (let length = 0; length < whole.length; length++) {
        const typed = whole.slice(0, length)
        assert.notEqual(checkUrl(typed, { whole: false }).state, 'wrong', typed)
      }
    }
  })

  for (const [typed, code] of [
    ['http://hooks.acme.com/', 'callback_url_not_https'],
    ['https://user:pass@hooks.acme.com/', 'callback_url_userinfo'],
    ['https://localhost/', 'callback_url_reserved_name'],
    ['https://10.0.0.1/', 'callback_url_private_address'],
    ['https://[fd00::1]/', 'callback_url_private_address'],
    ['https://hooks.acme.com/#a', 'callback_url_fragment'],
    ['https://hooks.acme.com:80/', 'callback_url_port'],
    ['https://hooks.acme.com/?token=1', 'callback_url_credential'],
    [`https://hooks.acme.com/${'a'.repeat(2_026)}`, 'callback_url_too_long'],
  ] as const) {
    it(`says what is wrong with ${typed.slice(0, 40)}`, () => {
      const check = checkUrl(typed, { whole: false })
      assert.equal(check.state === 'wrong' && check.code, code)
    })
  }
})
