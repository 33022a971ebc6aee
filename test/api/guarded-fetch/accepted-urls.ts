import { inDigits, LONGEST_LABEL, LONGEST_NAME, listed, MAPPED_DIGITS, words } from './spellings.ts'

const unchanged = (...hrefs: string[]): [typed: string, saved: string][] => hrefs.map((href) => [href, href])

const PUBLIC_NAMES = [...listed('public names'), LONGEST_NAME, `${LONGEST_LABEL}.com`]

export const ACCEPTED: [typed: string, saved: string][] = [
  ...unchanged(...PUBLIC_NAMES.map((name) => `https://${name}/`)),
  ...unchanged(...listed('paths without a credential').map((path) => `https://hooks.acme.com${path}`)),
  ...unchanged(...[1024, 1721, 6664, 8443, 65535].map((port) => `https://hooks.acme.com:${port}/`)),
  ...unchanged(`https://hooks.acme.com/${'a'.repeat(2_025)}`),
  ...unchanged(...listed('public addresses')),
  // spelled in another way than it is saved
  [' https://acme.com/ ', 'https://acme.com/'],
  ...listed('saved in another spelling than typed', /\n/).map((row) => row.split(' ') as [string, string]),
  ...listed('spellings of 8.8.8.8').map((host): [string, string] => [`https://${host}/`, 'https://8.8.8.8/']),
  ...MAPPED_DIGITS.map((digits): [string, string] => [
    `https://${inDigits('8.8.8.8', digits)}/`,
    'https://8.8.8.8/',
  ]),
  ...words(`[2606:4700:0:0:0:0:0:1111] [2606:4700:0000::1111] [2606:4700::0.0.17.17]`).map(
    (host): [string, string] => [`https://${host}/`, 'https://[2606:4700::1111]/'],
  ),
  ['https://[2A00:1450:4001:82A::200E]/', 'https://[2a00:1450:4001:82a::200e]/'],
]
