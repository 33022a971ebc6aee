import type { CallbackUrlProblemCode } from '../../../apps/api/problems/callback-url-problems.ts'
import { inDigits, LONGEST_NAME, listed, MAPPED_DIGITS, MAPPED_DOTS } from './spellings.ts'

const character = (codePoint: number): string => String.fromCodePoint(codePoint)
/** Returns the code points of ranges in hexadecimal, such as `00-08 7f`. */
const codePoints = (ranges: string): number[] =>
  ranges.split(' ').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map((text) => Number.parseInt(text, 16))
    return Array.from({ length: last - first + 1 }, (_, at) => first + at)
  })

const NOT_PUBLIC_HOSTS = [
  ...listed('addresses that are not public'),
  // Digits and dots that only look like themselves
  ...MAPPED_DIGITS.map((digits) => inDigits('127.0.0.1', digits)),
  ...MAPPED_DIGITS.map((digits) => inDigits('2130706433', digits)),
  ...MAPPED_DOTS.map((dot) => ['127', '0', '0', '1'].join(dot)),
  ...MAPPED_DOTS.flatMap((dot) =>
    MAPPED_DIGITS.map((digits) => inDigits('169.254.169.254', digits).replaceAll('.', dot)),
  ),
  ...['０x7f.1', '0ｘ7f.1', '0𝐱7F.1', '⓿.⓿.⓿.⓿'.replaceAll('⓿', '⓪'), '¹27.0.0.1'],
]

const SECRET_PATHS = [
  ...listed('paths with a secret'),
  `/ias_${'a1B2c3D4e5'.repeat(5).slice(0, 49)}`,
  `/hook/ses_${'a1B2c3D4e5'.repeat(5).slice(0, 43)}`,
  `/ghp_${'a1B2c3'.repeat(6)}`,
  `/?a=ghs_${'a1B2c3'.repeat(6)}`,
  `/github_pat_${'11ABCDEFG0'.repeat(3)}`,
  `/${['sk', 'live', '4eC39HqLyjWDarjtT1zdp7dc'].join('_')}`,
  `/${['rk', 'test', '4eC39HqLyjWDarjtT1zdp7dc'].join('_')}`,
  `/npm_${'a1B2c3'.repeat(6)}`,
  `/dop_v1_${'0123456789abcdef'.repeat(4)}`,
  `/shpat_${'0123456789abcdef'.repeat(2)}`,
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
  callback_url_not_https: listed('not https'),
  callback_url_malformed: [
    ...listed('malformed'),
    ...['https://\u0301\u0301/', 'https://٣.٣.٣.٣/', 'https://acme.com％2f.com/'],
  ],
  callback_url_userinfo: listed('with a user'),
  callback_url_encoded_host: listed('with an encoded host'),
  callback_url_fragment: listed('with a fragment'),
  callback_url_port: [
    ...BAD_PORTS.map((port) => `https://hooks.acme.com:${port}/`),
    ...listed('with another port'),
  ],
  callback_url_host_name: [
    ...listed('of no host name'),
    ...[
      `https://${'a'.repeat(64)}.com/`,
      `https://hooks.${'a'.repeat(64)}.com/`,
      `https://a.${LONGEST_NAME}/`,
      `https://${'ä'.repeat(60)}.com/`,
    ],
  ],
  callback_url_trailing_dot: listed('with a dot at the end'),
  callback_url_reserved_name: listed('reserved names').flatMap((name) => [
    `https://${name}/`,
    `https://${name}:8443/hook?x=1`,
  ]),
  callback_url_single_label: listed('of a single label'),
  callback_url_top_level: listed('of no top level'),
  callback_url_credential: listed('queries with a credential').flatMap((query) => [
    `https://hooks.acme.com/?${query}`,
    `https://hooks.acme.com/events?lang=en&${query}`,
  ]),
  callback_url_secret: SECRET_PATHS.map((path) => `https://hooks.acme.com${path}`),
  callback_url_private_address: NOT_PUBLIC_HOSTS.flatMap((host) => [
    `https://${host}/`,
    `https://${host}:8443/hook`,
  ]),
}
