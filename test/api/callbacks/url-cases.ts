import type { CallbackUrlProblemCode } from '#shared/callback-url-problems.ts'

const character = (codePoint: number): string => String.fromCodePoint(codePoint)
const codePoints = (...ranges: [number, number][]): number[] =>
  ranges.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, at) => first + at))

const words = (text: string): string[] => text.trim().split(/\s+/)

const FULLWIDTH = '０１２３４５６７８９'
const CIRCLED = '⓪①②③④⑤⑥⑦⑧⑨'
const SUPERSCRIPT = '⁰¹²³⁴⁵⁶⁷⁸⁹'
const SUBSCRIPT = '₀₁₂₃₄₅₆₇₈₉'
const BOLD = '𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗'
const DOUBLE_STRUCK = '𝟘𝟙𝟚𝟛𝟜𝟝𝟞𝟟𝟠𝟡'
const MONOSPACE = '𝟶𝟷𝟸𝟹𝟺𝟻𝟼𝟽𝟾𝟿'
const SEGMENTED = '🯰🯱🯲🯳🯴🯵🯶🯷🯸🯹'
/** Digits of other alphabets that IDNA maps to ASCII ones. */
export const MAPPED_DIGITS = [
  FULLWIDTH,
  CIRCLED,
  SUPERSCRIPT,
  SUBSCRIPT,
  BOLD,
  DOUBLE_STRUCK,
  MONOSPACE,
  SEGMENTED,
]
/** Full stops that IDNA maps to the ASCII one. */
export const MAPPED_DOTS = ['。', '．', '｡']
const inDigits = (text: string, digits: string): string =>
  text.replace(/\d/g, (digit) => [...digits][Number(digit)] ?? digit)

const NOT_PUBLIC_HOSTS = [
  // IPv4, in every spelling that the parser reads
  ...words(`
      127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0x7f.1 0x7F.0.0.1 0177.0.0.1 017700000001 0x7f.0.0x0.0x1
      0177.0x0.0.1 00000177.1 127.0.0.1. 0x7f.0.0.1. 127.255.255.254 0.0.0.0 0 0x0 00 0.1 0.255.255.255
      10.0.0.1 0xa.1 012.1 167772161 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.255
      169.254.169.254 0xa9fea9fe 2852039166 0251.0376.0251.0376 172.16.0.1 172.31.255.255 192.0.0.1
      192.0.0.192 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1 192.168.0.1 192.168.1 3232235521
      192.168.255.255 192.175.48.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1
      239.255.255.255 240.0.0.1 255.255.255.255 4294967295 0xffffffff 037777777777 168.63.129.16
    `),
  // IPv6 and what it can embed
  ...words(`
      [::] [::1] [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001] [::0:1] [::0.0.0.1]
      [::127.0.0.1] [::7f00:1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::FFFF:7F00:1] [0:0:0:0:0:ffff:127.0.0.1]
      [::ffff:8.8.8.8] [::ffff:808:808] [::ffff:93.184.216.34] [::ffff:0:8.8.8.8] [::8.8.8.8]
      [64:ff9b::8.8.8.8] [64:ff9b::808:808] [64:ff9b::7f00:1] [64:ff9b:1::1] [64:ff9b:1:ffff::808:808]
      [2002:7f00:1::] [2002:808:808::1] [2002:a9fe:a9fe::] [2001::1] [2001:0:4136:e378:8000:63bf:3fff:fdd2]
      [fe80::1] [febf::1] [fec0::1] [fc00::1] [fd00::1] [fd00:ec2::254] [fdff:ffff::1] [ff02::1] [ff0e::1]
      [100::1] [2001:db8::1] [2001:2::1] [2001:10::1] [2001:20::1] [2001:30::1] [3fff::1] [3ffe::1]
      [5f00::1] [4000::1] [1::1] [2620:4f:8000::1] [2001:470::5efe:a00:1]
    `),
  // Digits and dots that only look like themselves
  ...MAPPED_DIGITS.map((digits) => inDigits('127.0.0.1', digits)),
  ...MAPPED_DIGITS.map((digits) => inDigits('10.1', digits)),
  ...MAPPED_DIGITS.map((digits) => inDigits('192.168.12.34', digits)),
  ...MAPPED_DIGITS.map((digits) => inDigits('2130706433', digits)),
  ...MAPPED_DOTS.map((dot) => ['127', '0', '0', '1'].join(dot)),
  ...MAPPED_DOTS.flatMap((dot) =>
    MAPPED_DIGITS.map((digits) => inDigits('169.254.169.254', digits).replaceAll('.', dot)),
  ),
  ...[
    '０x7f.1',
    '0ｘ7f.1',
    '0𝐱7F.1',
    '⓿.⓿.⓿.⓿'.replaceAll('⓿', '⓪'),
    '127.0.0.1'.replace('1', '¹'),
    'ⅰ27.0.0.1'.replace('ⅰ', '1'),
  ],
]

const RESERVED_NAMES = [
  ...words(`
      localhost LOCALHOST LocalHost ⓛⓞⓒⓐⓛⓗⓞⓢⓣ ｌｏｃａｌｈｏｓｔ 𝓵𝓸𝓬𝓪𝓵𝓱𝓸𝓼𝓽 ℓocalhost localhoſt foo.localhost
      a.b.localhost foo。localhost localhost.localdomain localdomain local printer.local PRINTER.LOCAL
      api.internal metadata.google.internal instance-data.ec2.internal intranet wiki.intranet nas.private
      sso.corp router.home tv.lan relay.mail 1.0.0.127.in-addr.arpa home.arpa x.home.arpa
      expyuzz4wqqyqhjn.onion stats.i2p pool.alt app.test test www.example example foo.invalid payments.svc
      payments.default.svc payments.default.svc.cluster.local app.consul x.docker a.workgroup
    `),
]

const CREDENTIAL_QUERIES = [
  ...words(`
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
    `),
]

const SECRET_PATHS = [
  `/ias_${'a1B2c3D4e5'.repeat(5).slice(0, 49)}`,
  `/hook/ses_${'a1B2c3D4e5'.repeat(5).slice(0, 43)}`,
  '/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U',
  '/?next=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U',
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
  '/%41KIAIOSFODNN7EXAMPLE',
  '/%2541KIAIOSFODNN7EXAMPLE',
]

const BAD_PORTS = [
  ...[
    0, 1, 20, 21, 22, 23, 25, 53, 80, 81, 110, 143, 389, 442, 444, 445, 465, 587, 591, 636, 853, 993, 995,
    1023,
  ],
  ...[
    1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679,
    6697, 10080,
  ],
]

const INVISIBLE = codePoints(
  [0x00, 0x08],
  [0x0e, 0x1f],
  [0x7f, 0x84],
  [0x86, 0x9f],
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180e, 0x180e],
  [0x200b, 0x200f],
  [0x202a, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xd800, 0xd800],
  [0xdfff, 0xdfff],
  [0xfdd0, 0xfdd0],
  [0xffa0, 0xffa0],
  [0xfff9, 0xfffb],
  [0xfffe, 0xffff],
  [0x1d173, 0x1d17a],
  [0xe0001, 0xe0001],
  [0xe0020, 0xe0023],
  [0xe007f, 0xe007f],
  [0x1fffe, 0x1ffff],
)
const WHITE_SPACE = [
  ...codePoints([0x09, 0x0d], [0x20, 0x20], [0xa0, 0xa0], [0x1680, 0x1680], [0x2000, 0x200a]),
  ...codePoints([0x2028, 0x2029], [0x202f, 0x202f], [0x205f, 0x205f], [0x3000, 0x3000], [0xfeff, 0xfeff]),
]

const label63 = 'a'.repeat(63)
const name253 = `${label63}.${label63}.${label63}.${'a'.repeat(57)}.com`

export const REFUSED: Partial<Record<CallbackUrlProblemCode, unknown[]>> = {
  callback_url_not_text: [
    ...[
      undefined,
      true,
      false,
      0,
      1,
      443,
      Number.NaN,
      {},
      [],
      ['https://hooks.acme.com/'],
      { href: 'https://hooks.acme.com/' },
    ],
    ...[
      new URL('https://hooks.acme.com/'),
      Object('https://hooks.acme.com/'),
      Symbol('https://hooks.acme.com/'),
      1n,
      () => 'https://hooks.acme.com/',
    ],
  ],
  callback_url_empty: [null, '', ' ', '     '],
  callback_url_too_long: [
    `https://hooks.acme.com/${'a'.repeat(2_026)}`,
    `https://hooks.acme.com/${'a'.repeat(100_000)}`,
    `https://hooks.acme.com/?${'ä'.repeat(1_100)}`,
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
  callback_url_not_https: [
    ...words(`
      http://hooks.acme.com/ HTTP://hooks.acme.com/ ftp://hooks.acme.com/ ws://hooks.acme.com/
      wss://hooks.acme.com/ hooks.acme.com hooks.acme.com/x //hooks.acme.com/ /hook https
      httpss://hooks.acme.com/ xhttps://hooks.acme.com/ file:///etc/passwd javascript:alert(1)
      data:text/html,x gopher://127.0.0.1:6379/_x blob:https://hooks.acme.com/x mailto:ops@acme.com
      ldap://hooks.acme.com/ dict://127.0.0.1/ unix:/var/run/docker.sock about:blank 127.0.0.1
      ｈttps://hooks.acme.com/ ⓗttps://hooks.acme.com/ httpѕ://hooks.acme.com/ "https://hooks.acme.com/"
      <https://hooks.acme.com/> view-source:https://hooks.acme.com/ http+unix://x %68ttps://hooks.acme.com/
      #https://hooks.acme.com url=https://hooks.acme.com
    `),
  ],
  callback_url_malformed: [
    ...words(`
      https: https:/ https:// https:/// https:///hooks.acme.com/ https:////hooks.acme.com
      https:hooks.acme.com https:/hooks.acme.com https://?a https://#a https://? https://:443/ https://:/
      https://[ https://[]/ https://]/ https://[::1 https://::1/ https://[::1]:x/ https://[1.2.3.4]/
      https://[hooks.acme.com]/ https://[::g]/ https://[1:2:3:4:5:6:7]/ https://[1:2:3:4:5:6:7:8:9]/
      https://[::1]x/ https://[2606:4700:::1]/ https://[::ffff:1.2.3]/ https://[::ffff:1.2.3.256]/
      https://[v1.fe80::a]/
    `),
    ...[
      'https://hooks.acme.com:port/',
      'https://hooks.acme.com:65536/',
      'https://hooks.acme.com:99999/',
      'https://hooks.acme.com:-1/',
      'https://hooks.acme.com:4 43/'.replace(' ', 'x'),
    ],
    ...words(`
      https://hooks.acme.com:443:443/ https://hooks.acme.com:８４４３/ https://hooks.acme.com:0x1bb/
      https://hooks.acme.com:443.0/ https://hooks.acme.com:+443/ https://256.1.1.1/ https://1.2.3.4.5/
      https://1.2.3.256/ https://4294967296/ https://0x100000000/ https://08.8.8.8/ https://0x.0x.0x.0x100/
      https://hooks.acme.1/ https://hooks.acme.0x1/ https://hooks.acme.123/ https://1..2/ https://1.2.3.08/
      https://ac<me.com/ https://ac>me.com/ https://ac^me.com/ https://ac|me.com/ https://ac[me.com/
      https://ac]me.com/
    `),
    ...[
      'https://hooks.acme.com＠127.0.0.1/',
      'https://hooks.acme.com／x@'.replace('@', ''),
      'https://hooks.acme.com？.evil.com/',
      'https://hooks.acme.com＃.evil.com/',
    ],
    ...words(`
      https://％31.com/ https://hooks.acme.com：443/ https://hooks.acme.com＼x/ https://a℀b.com/
    `),
    ...['https://\u0301\u0301/', 'https://٣.٣.٣.٣/', 'https://acme.com٪2f.com/'.replace('٪', '％')],
  ],
  callback_url_userinfo: [
    ...words(`
      https://user@hooks.acme.com/ https://user:pass@hooks.acme.com/ https://:pass@hooks.acme.com/
      https://@hooks.acme.com/ https://:@hooks.acme.com/ https://hooks.acme.com@127.0.0.1/
      https://hooks.acme.com:443@127.0.0.1/ https://127.0.0.1@hooks.acme.com/ https://a@b@hooks.acme.com/
      https://user%40hooks.acme.com@hooks.acme.com/ https://hooks.acme.com%2f@127.0.0.1/ https://@
      https://@@@/ https://hooks.acme.com@ https://user@[::1]/
    `),
  ],
  callback_url_encoded_host: [
    ...words(`
      https://127%2e0%2e0%2e1/ https://%31%32%37.0.0.1/ https://%6c%6f%63%61%6c%68%6f%73%74/
      https://hooks%2eacme.com/ https://hooks.acme.com%2f/ https://hooks.acme.com%00.evil.com/
      https://hooks.acme.com%23.evil.com/ https://%5B::1%5D/ https://[fe80::1%25eth0]/ https://[::1%251]/
      https://hooks.acme.com:%34%34%33/ https://hooks.acme.com% https://%/ https://%zz.com/
      https://hooks.acme.com%40127.0.0.1/ https://%E3%80%82/
    `),
  ],
  callback_url_fragment: [
    ...words(`
      https://hooks.acme.com/# https://hooks.acme.com/#x https://hooks.acme.com# https://hooks.acme.com?a#b
      https://hooks.acme.com#@127.0.0.1/ https://hooks.acme.com/a#/b?c https://hooks.acme.com/##
    `),
  ],
  callback_url_port: [
    ...BAD_PORTS.map((port) => `https://hooks.acme.com:${port}/`),
    ...words(`
      https://hooks.acme.com:0080/ https://8.8.8.8:22/ https://[2606:4700::1111]:25/
      https://hooks.acme.com:00000000000000000022/
    `),
  ],
  callback_url_host_name: [
    ...words(`
      https://xn--/ https://xn--a-.com/ https://xn--a.com/ https://hooks.xn--zzzzzzzz.com/
      https://.acme.com/ https://hooks..acme.com/ https://./ https://../ https://..com/ https://-acme.com/
      https://acme-.com/ https://a.-b.com/
    `).filter((url) => !/\.\/$/.test(url)),
    ...words(`
      https://ac!me.com/ https://ac$me.com/ https://ac&me.com/ https://ac'me.com/ https://ac(me).com/
      https://ac*me.com/ https://*.acme.com/
    `),
    ...[
      'https://ac+me.com/',
      'https://ac,me.com/',
      'https://ac;me.com/',
      'https://ac=me.com/',
      'https://ac"me.com/',
      'https://ac`me.com/',
      'https://ac{me}.com/',
      'https://ac~me.com/',
    ],
    ...[
      `https://${'a'.repeat(64)}.com/`,
      `https://hooks.${'a'.repeat(64)}.com/`,
      `https://a.${name253}/`,
      `https://${'ä'.repeat(60)}.com/`,
    ],
  ],
  callback_url_trailing_dot: [
    ...words(`
      https://hooks.acme.com./ https://hooks.acme.com. https://hooks.acme.com.:443/
      https://hooks.acme.com../ https://localhost./ https://acme./ https://hooks.acme.com。/
      https://hooks.acme.com．/ https://hooks.acme.com｡/ https://./ https://../
    `),
  ],
  callback_url_reserved_name: RESERVED_NAMES.flatMap((name) => [
    `https://${name}/`,
    `https://${name}:8443/hook?x=1`,
  ]),
  callback_url_single_label: [
    ...words(`
      https://server/ https://intern/ https://metadata/ https://kubernetes/ https://wpad/ https://com/
      https://redis:8443/ https://host_name/ https://xn--fiqs8s/ https://bücher/ https://公司/ https://a/
    `),
  ],
  callback_url_top_level: [
    ...words(`
      https://hooks.acme.c/ https://hooks.acme.c0m/ https://hooks.acme.co-m/ https://hooks.acme._tcp/
      https://acme.x1/ https://kubernetes.default1/ https://௧.௨.௩.௪/ https://१२७.०.०.१/ https://acme.১২৩/
      https://hooks.acme.com1/ https://acme.☃/
    `),
  ],
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

const unchanged = (...hrefs: string[]): [typed: string, saved: string][] => hrefs.map((href) => [href, href])

const PUBLIC_NAMES = [
  ...words(`
      acme.com www.acme.com hooks.acme.co.uk a.b.c.d.e.acme.com example.com hooks.example.com example.org
      example.net www.example.co acme.io acme.dev acme.app acme.cloud acme.museum acme.travel
      acme.photography acme.box acme.host acme.network acme.systems localhost.com local.acme.com
      internal.acme.com private.acme.de corp.com home.acme.fr lan.acme.it mail.acme.com test.com
      invalid.acme.com test.acme.com onion.acme.com arpa.acme.com svc.acme.com intranet.acme.com
      localhost.acme.com mylocalhost.com notlocal.com thelan.net 127.0.0.1.nip.io 10.0.0.1.sslip.io
      1.acme.com 123.com 4chan.org 1-2-3.acme.com 0x7f.acme.com 1.1.1.one my-hooks.acme.com
      a-b.acme-corp.com a--b.com r3---sn-4g5e6nsz.googlevideo.com hooks_prod.acme.com _hooks.acme.com x.co
      a.bc xn--bcher-kva.de xn--fiqs8s.xn--fiqs8s acme.xn--p1ai hooks.xn--80ak6aa92e.com
      acme.xn--vermgensberatung-pwb acme.xn--mgbaam7a8h acme.xn--3e0b707e hooks.slack.com discord.com
      prod-12.westeurope.logic.azure.com abc123.execute-api.eu-central-1.amazonaws.com acme.ngrok.app
      acme.workers.dev
    `),
  ...[
    name253,
    `${label63}.com`,
    'metadata.acme.com',
    'kubernetes.acme.com',
    'redis.acme.com',
    'internal-acme.com',
    'acme.internal.com',
    'acme.local.net',
  ],
]

const PUBLIC_PATHS = [
  ...words(`
      / /hook /hook/ /a/b/c /events.php /~user/hook /@acme/hook /a:b /a@b /a;b=c /a,b /a=b /a+b /a!b /a$b
      /a'b /a(b) /a*b /- /_ /.well-known/hook /%20 /a%2Fb /%E2%82%AC /%00 /%0d%0a /%E2%80%AE /a%40b /100%25
      /% /%zz /? /?a=1 /?a /?a=1&b=2 /?a=1;b=2 /?a[]=1 /?a=%26 /?= /?& /?url=https://acme.com/ /?a=b@c.com
      /?a=/../b /?a?b /a//b // /?q=100%25 /?a=%E4%BD%A0
      /services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX
      /api/webhooks/1234567890/abcDEFghiJKLmnoPQRstuVWXyz-0123456789 /hooks/catch/123456/abcdef/
      /3f2b8c1e-7d4a-4b5e-9f60-1a2b3c4d5e6f /0123456789abcdef0123456789abcdef /eyJ0ZW5hbnQiOiJhY21lIn0
      /Zm9vYmFy /token/abc /secret/x /password-reset /api_key/1 /keys /alias_ABCDEFGHIJKLMNOPQRST
      /?keyword=shoes /?keywords=a /?monkey=1 /?turkey=1 /?hotkey=a /?design=1 /?signal=1 /?assignment=2
      /?signup=1 /?secretary=a /?passenger=1 /?passage=1 /?compass=n /?author=x /?authority=x /?tokenize=1
      /?tokyo=1 /?keyboard=us /?public_key=x /?sort_key=x /?publicKey=x /?cookieless=1 /?sessions_per_day=4
      /?obsession=1 /?code=DE /?client_id=x /?user=x /?username=x /?email=a@b.com /?id=1 /?tenant=acme
      /?env=prod /?v=2 /?lang=de /?ref=a.b /?name=password /?type=token /?next=/token /?state=xyz /?nonce=1
      /?hash=abc
    `),
]

export const ACCEPTED: [typed: string, saved: string][] = [
  ...unchanged(...PUBLIC_NAMES.map((name) => `https://${name}/`)),
  ...unchanged(...PUBLIC_PATHS.map((path) => `https://hooks.acme.com${path}`)),
  ...unchanged(
    ...[
      1024, 1025, 1718, 1721, 1722, 1724, 2048, 2050, 3000, 4443, 5059, 5062, 6001, 6664, 6670, 8000, 8080,
      8443, 9443, 10079, 10081, 49151, 65535,
    ].map((port) => `https://hooks.acme.com:${port}/`),
  ),
  ...unchanged(`https://hooks.acme.com/${'a'.repeat(2_025)}`),
  ...unchanged(
    'https://8.8.8.8/',
    'https://1.1.1.1:8443/x',
    'https://223.255.255.255/',
    'https://[2606:4700::1111]/',
    'https://[2a00:1450:4001:82a::200e]:8443/x',
  ),
  // spelled in another way than it is saved
  ['https://acme.com', 'https://acme.com/'],
  ['HTTPS://ACME.COM', 'https://acme.com/'],
  ['hTtPs://Hooks.Acme.Com/Path?Q=R', 'https://hooks.acme.com/Path?Q=R'],
  [' https://acme.com/ ', 'https://acme.com/'],
  ['     https://acme.com/x', 'https://acme.com/x'],
  ['https://acme.com?a=b', 'https://acme.com/?a=b'],
  ['https://acme.com:443/', 'https://acme.com/'],
  ['https://acme.com:00443/', 'https://acme.com/'],
  ['https://acme.com:/', 'https://acme.com/'],
  ['https://acme.com:08443/', 'https://acme.com:8443/'],
  ['https://acme.com/a/../b', 'https://acme.com/b'],
  ['https://acme.com/./a/%2e%2e/b', 'https://acme.com/b'],
  ['https://acme.com/ä', 'https://acme.com/%C3%A4'],
  ['https://acme.com/?q=ä€😀', 'https://acme.com/?q=%C3%A4%E2%82%AC%F0%9F%98%80'],
  ['https://acme.com/<b>"', 'https://acme.com/%3Cb%3E%22'],
  ["https://acme.com/?'", 'https://acme.com/?%27'],
  ['https://bücher.de/', 'https://xn--bcher-kva.de/'],
  ['https://BÜCHER.DE/', 'https://xn--bcher-kva.de/'],
  ['https://faß.de/', 'https://xn--fa-hia.de/'],
  ['https://例え.公司/', 'https://xn--r8jz45g.xn--55qx5d/'],
  ['https://пример.рф/', 'https://xn--e1afmkfd.xn--p1ai/'],
  ['https://i❤️.ws/', 'https://xn--i-7iq.ws/'],
  ['https://acme。com/', 'https://acme.com/'],
  ['https://acme．com/', 'https://acme.com/'],
  ['https://acme｡com/', 'https://acme.com/'],
  ['https://ａｃｍｅ.ｃｏｍ/', 'https://acme.com/'],
  ['https://ⓐⓒⓜⓔ.ⓒⓞⓜ/', 'https://acme.com/'],
  ...words(`
      0x08080808 134744072 010.010.010.010 8.8.2056 8.526344 0x8.0x8.0x8.0x8 8.8.8.8. 0010.8.8.8
    `).map((host): [string, string] => [`https://${host}/`, 'https://8.8.8.8/']),
  ...MAPPED_DIGITS.map((digits): [string, string] => [
    `https://${inDigits('8.8.8.8', digits)}/`,
    'https://8.8.8.8/',
  ]),
  ...MAPPED_DOTS.map((dot): [string, string] => [
    `https://${['8', '8', '8', '8'].join(dot)}/`,
    'https://8.8.8.8/',
  ]),
  ...words(`[2606:4700:0:0:0:0:0:1111] [2606:4700:0000::1111] [2606:4700::0.0.17.17]`).map(
    (host): [string, string] => [`https://${host}/`, 'https://[2606:4700::1111]/'],
  ),
  ['https://[2A00:1450:4001:82A::200E]/', 'https://[2a00:1450:4001:82a::200e]/'],
]
