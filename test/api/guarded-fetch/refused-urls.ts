import type { CallbackUrlProblemCode } from '../../../apps/api/problems/callback-url-problems.ts'
import { inDigits, LONGEST_NAME, MAPPED_DIGITS, MAPPED_DOTS, words } from './spellings.ts'

const character = (codePoint: number): string => String.fromCodePoint(codePoint)
/** Returns the code points of ranges in hexadecimal, such as `00-08 7f`. */
const codePoints = (ranges: string): number[] =>
  ranges.split(' ').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map((text) => Number.parseInt(text, 16))
    return Array.from({ length: last - first + 1 }, (_, at) => first + at)
  })

const NOT_PUBLIC_HOSTS = [
  // IPv4, in every spelling that the parser reads
  ...words(`
      127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0x7f.1 0x7F.0.0.1 0177.0.0.1 017700000001 0x7f.0.0x0.0x1
      0177.0x0.0.1 00000177.1 127.0.0.1. 0x7f.0.0.1. 0.0.0.0 0 0x0 00 0.1 10.0.0.1 0xa.1 012.1 167772161
      169.254.169.254 0xa9fea9fe 2852039166 0251.0376.0251.0376 192.168.1 4294967295 0xffffffff 037777777777
    `),
  // IPv6 and what it can embed
  ...words(`
      [::] [::1] [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001] [::0:1] [::0.0.0.1]
      [::127.0.0.1] [::7f00:1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::FFFF:7F00:1] [0:0:0:0:0:ffff:127.0.0.1]
      [::ffff:8.8.8.8] [::ffff:808:808] [::ffff:93.184.216.34] [::ffff:0:8.8.8.8] [::8.8.8.8]
      [64:ff9b::8.8.8.8] [64:ff9b::808:808] [2002:7f00:1::] [fe80::1] [fd00:ec2::254] [2001:470::5efe:a00:1]
    `),
  // Digits and dots that only look like themselves
  ...MAPPED_DIGITS.map((digits) => inDigits('127.0.0.1', digits)),
  ...MAPPED_DIGITS.map((digits) => inDigits('2130706433', digits)),
  ...MAPPED_DOTS.map((dot) => ['127', '0', '0', '1'].join(dot)),
  ...MAPPED_DOTS.flatMap((dot) =>
    MAPPED_DIGITS.map((digits) => inDigits('169.254.169.254', digits).replaceAll('.', dot)),
  ),
  ...['０x7f.1', '0ｘ7f.1', '0𝐱7F.1', '⓿.⓿.⓿.⓿'.replaceAll('⓿', '⓪'), '¹27.0.0.1'],
]

const RESERVED_NAMES = words(`
      localhost LOCALHOST LocalHost ⓛⓞⓒⓐⓛⓗⓞⓢⓣ ｌｏｃａｌｈｏｓｔ 𝓵𝓸𝓬𝓪𝓵𝓱𝓸𝓼𝓽 ℓocalhost localhoſt foo.localhost
      a.b.localhost foo。localhost localhost.localdomain localdomain local printer.local PRINTER.LOCAL
      api.internal metadata.google.internal instance-data.ec2.internal intranet wiki.intranet nas.private
      sso.corp router.home tv.lan relay.mail 1.0.0.127.in-addr.arpa home.arpa x.home.arpa
      expyuzz4wqqyqhjn.onion stats.i2p pool.alt app.test test www.example example foo.invalid payments.svc
      payments.default.svc payments.default.svc.cluster.local app.consul x.docker a.workgroup
`)

const CREDENTIAL_QUERIES = words(`
      token=abc TOKEN=abc Token= token access_token=x accessToken=x access-token=x access.token=x
      refresh_token=x id_token=x auth_token=x authToken=x user_token=x csrf_token=x x-token=x tokens=x
      api_key=x apikey=x apiKey=x APIKEY=x api-key=x x-api-key=x X_API_KEY=x key=x KEY=x keys=x secret=x
      client_secret=x clientSecret=x clientsecret=x app_secret=x secret_key=x secretkey=x password=x
      PASSWORD=x passwd=x pwd=x pass=x passphrase=x user_password=x userpassword=x pw_password=x sig=x
      signature=x Signature=x X-Amz-Signature=x X-Amz-Security-Token=x X-Amz-Credential=x x-goog-signature=x
      AWSAccessKeyId=x aws_secret_access_key=x access_key=x private_key=x subscription-key=x routing_key=x
      jwt=x bearer=x auth=x authorization=x credential=x credentials=x hmac=x session=x sessionid=x
      session_id=x PHPSESSID=x JSESSIONID=x cookie=x otp=x sv=2021&sig=x a=1&token=x a=1;token=x a&b&key=c
      %74oken=x %74%6f%6b%65%6e=x %2574oken=x %252574oken=x to%6ben=x api%5Fkey=x api%20key=x api+key=x
      user[token]=x auth[key]=x data%5Bpassword%5D=x user.password=x token[]=x token1=x password2=x ｔｏｋｅｎ=x
      %EF%BD%94oken=x next=https%3A%2F%2Fa.com%3Ftoken%3Dx next=https://a.com?token=x q=1%26api_key%3Dx
`)

const SECRET_PATHS = [
  `/ias_${'a1B2c3D4e5'.repeat(5).slice(0, 49)}`,
  `/hook/ses_${'a1B2c3D4e5'.repeat(5).slice(0, 43)}`,
  '/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U',
  '/AKIAIOSFODNN7EXAMPLE',
  '/ASIAIOSFODNN7EXAMPLE/x',
  `/ghp_${'a1B2c3'.repeat(6)}`,
  `/?a=ghs_${'a1B2c3'.repeat(6)}`,
  `/github_pat_${'11ABCDEFG0'.repeat(3)}`,
  '/glpat-aBcDeFgHiJkLmNoPqRsT',
  '/xoxb-123456789012-abcdefghijkl',
  `/${['sk', 'live', '4eC39HqLyjWDarjtT1zdp7dc'].join('_')}`,
  `/${['rk', 'test', '4eC39HqLyjWDarjtT1zdp7dc'].join('_')}`,
  '/AIzaSyA-1234567890abcdefghijklmnopqrstu',
  '/ya29.a0AfH6SMBx1234567890abcdef',
  '/GOCSPX-abcdefghijklmnopqrstuvwx',
  '/SG.abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuvwxyz0123456789abcdefg',
  `/npm_${'a1B2c3'.repeat(6)}`,
  `/dop_v1_${'0123456789abcdef'.repeat(4)}`,
  `/shpat_${'0123456789abcdef'.repeat(2)}`,
  '/bot123456789:AAabcdefghijklmnopqrstuvwxyz0123456/send',
  '/sk-proj-abcdefghijklmnopqrstuvwxyz012345',
  '/?u=https://user:hunter2@db.acme.com/',
  '/?u=postgres%3A%2F%2Fapp%3Ahunter2%40db.acme.com%2Fx',
  '/%25252541KIAIOSFODNN7EXAMPLE',
]

const BAD_PORTS = [
  0, 22, 25, 80, 442, 444, 1023, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666,
  6667, 6668, 6669, 6679, 6697, 10080,
]

const INVISIBLE = [
  ...codePoints('00-08 0e-1f 7f-84 86-9f ad 34f 61c 115f-1160 17b4-17b5 180e 200b-200f 202a-202e 2060-206f'),
  ...codePoints(
    '3164 d800 dfff fdd0 ffa0 fff9-fffb fffe-ffff 1d173-1d17a e0001 e0020-e0023 e007f 1fffe-1ffff',
  ),
]
const WHITE_SPACE = codePoints('09-0d 20 a0 1680 2000-200a 2028-2029 202f 205f 3000 feff')

export const REFUSED: Partial<Record<CallbackUrlProblemCode, unknown[]>> = {
  callback_url_not_text: [
    ...[undefined, true, false, 0, 1, 443, Number.NaN, {}, []],
    ...[['https://hooks.acme.com/'], { href: 'https://hooks.acme.com/' }],
    ...[new URL('https://hooks.acme.com/'), Object('https://hooks.acme.com/')],
    ...[Symbol('https://hooks.acme.com/'), 1n, () => 'https://hooks.acme.com/'],
  ],
  callback_url_empty: [null, '', ' ', '     '],
  callback_url_too_long: [
    `https://hooks.acme.com/${'a'.repeat(2_026)}`,
    `https://hooks.acme.com/${'a'.repeat(100_000)}`,
    // short enough as typed, too long once encoded
    `https://hooks.acme.com/${'ä'.repeat(800)}`,
    `https://hooks.acme.com/${'😀'.repeat(300)}`,
  ],
  callback_url_white_space: [
    ...WHITE_SPACE.filter((code) => code !== 0xfeff).flatMap((code) => [
      `https://hooks.acme.com/a${character(code)}b`,
      `https://hooks.ac${character(code)}me.com/`,
      `https:${character(code)}//hooks.acme.com/`,
    ]),
    ...['\t', '\n', '\r\n', '\u00a0', '\u3000', '\u2028'].flatMap((space) => [
      `${space}https://hooks.acme.com/`,
      `https://hooks.acme.com/${space}`,
    ]),
  ],
  callback_url_invisible_character: INVISIBLE.flatMap((code) => [
    `https://hooks.acme.com/a${character(code)}b`,
    `https://hooks.ac${character(code)}me.com/`,
    `${character(code)}https://hooks.acme.com/`,
  ]),
  callback_url_backslash: [
    ...['https:\\\\hooks.acme.com\\', 'https://hooks.acme.com\\@127.0.0.1/', 'https://hooks.acme.com/a\\b'],
    ...['https://hooks.acme.com?a=\\', 'https:/\\hooks.acme.com/', '\\\\hooks.acme.com\\share'],
  ],
  callback_url_not_https: words(`
      http://hooks.acme.com/ HTTP://hooks.acme.com/ ftp://hooks.acme.com/ ws://hooks.acme.com/
      wss://hooks.acme.com/ hooks.acme.com hooks.acme.com/x //hooks.acme.com/ /hook https
      httpss://hooks.acme.com/ xhttps://hooks.acme.com/ file:///etc/passwd javascript:alert(1)
      data:text/html,x gopher://127.0.0.1:6379/_x blob:https://hooks.acme.com/x mailto:ops@acme.com
      ldap://hooks.acme.com/ dict://127.0.0.1/ unix:/var/run/docker.sock about:blank 127.0.0.1
      ｈttps://hooks.acme.com/ ⓗttps://hooks.acme.com/ httpѕ://hooks.acme.com/ "https://hooks.acme.com/"
      <https://hooks.acme.com/> view-source:https://hooks.acme.com/ http+unix://x %68ttps://hooks.acme.com/
      #https://hooks.acme.com url=https://hooks.acme.com
    `),
  callback_url_malformed: [
    ...words(`
      https: https:/ https:// https:/// https:///hooks.acme.com/ https:////hooks.acme.com
      https:hooks.acme.com https:/hooks.acme.com https://?a https://#a https://:443/ https://[ https://::1/
      https://[1.2.3.4]/ https://hooks.acme.com:port/ https://hooks.acme.com:65536/ https://256.1.1.1/
      https://hooks.acme.com:443:443/ https://hooks.acme.com:８４４３/ https://hooks.acme.1/ https://ac<me.com/
      https://hooks.acme.com＠127.0.0.1/ https://hooks.acme.com／x https://hooks.acme.com？.evil.com/
      https://hooks.acme.com＃.evil.com/ https://％31.com/ https://hooks.acme.com：443/ https://a℀b.com/
    `),
    ...['https://\u0301\u0301/', 'https://٣.٣.٣.٣/', 'https://acme.com％2f.com/'],
  ],
  callback_url_userinfo: words(`
      https://user@hooks.acme.com/ https://user:pass@hooks.acme.com/ https://:pass@hooks.acme.com/
      https://@hooks.acme.com/ https://:@hooks.acme.com/ https://hooks.acme.com@127.0.0.1/
      https://hooks.acme.com%2f@127.0.0.1/ https://@@@/
    `),
  callback_url_encoded_host: words(`
      https://127%2e0%2e0%2e1/ https://%31%32%37.0.0.1/ https://%6c%6f%63%61%6c%68%6f%73%74/
      https://%zz.com/
      https://hooks.acme.com%00.evil.com/ https://[fe80::1%25eth0]/ https://hooks.acme.com:%34%34%33/
    `),
  callback_url_fragment: words(`
      https://hooks.acme.com/# https://hooks.acme.com/#x https://hooks.acme.com# https://hooks.acme.com?a#b
      https://hooks.acme.com#@127.0.0.1/ https://hooks.acme.com/a#/b?c https://hooks.acme.com/##
    `),
  callback_url_port: [
    ...BAD_PORTS.map((port) => `https://hooks.acme.com:${port}/`),
    ...words(`
      https://hooks.acme.com:0080/ https://8.8.8.8:22/ https://[2606:4700::1111]:25/
    `),
  ],
  callback_url_host_name: [
    ...words(`
      https://xn--/ https://xn--a-.com/ https://xn--a.com/ https://hooks.xn--zzzzzzzz.com/
      https://.acme.com/ https://hooks..acme.com/ https://-acme.com/
      https://acme-.com/ https://a.-b.com/
      https://*.acme.com/ https://ac'me.com/ https://ac,me.com/ https://ac=me.com/ https://ac~me.com/
    `),
    ...[
      `https://${'a'.repeat(64)}.com/`,
      `https://hooks.${'a'.repeat(64)}.com/`,
      `https://a.${LONGEST_NAME}/`,
      `https://${'ä'.repeat(60)}.com/`,
    ],
  ],
  callback_url_trailing_dot: words(`
      https://hooks.acme.com./ https://hooks.acme.com. https://hooks.acme.com.:443/
      https://localhost./ https://hooks.acme.com。/ https://./ https://../
    `),
  callback_url_reserved_name: RESERVED_NAMES.flatMap((name) => [
    `https://${name}/`,
    `https://${name}:8443/hook?x=1`,
  ]),
  callback_url_single_label: words(`
      https://server/ https://intern/ https://metadata/ https://kubernetes/ https://wpad/ https://com/
      https://redis:8443/ https://host_name/ https://xn--fiqs8s/ https://bücher/ https://公司/ https://a/
    `),
  callback_url_top_level: words(`
      https://hooks.acme.c/ https://hooks.acme.c0m/ https://hooks.acme.co-m/ https://hooks.acme._tcp/
      https://acme.x1/ https://kubernetes.default1/ https://௧.௨.௩.௪/ https://१२७.०.०.१/ https://acme.১২৩/
      https://hooks.acme.com1/ https://acme.☃/
    `),
  callback_url_credential: CREDENTIAL_QUERIES.flatMap((query) => [
    `https://hooks.acme.com/?${query}`,
    `https://hooks.acme.com/events?lang=en&${query}`,
  ]),
  callback_url_secret: SECRET_PATHS.map((path) => `https://hooks.acme.com${path}`),
  callback_url_private_address: NOT_PUBLIC_HOSTS.flatMap((host) => [
    `https://${host}/`,
    `https://${host}:8443/hook`,
  ]),
}
