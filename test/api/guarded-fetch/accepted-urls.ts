import { inDigits, LONGEST_LABEL, LONGEST_NAME, MAPPED_DIGITS, words } from './spellings.ts'

const unchanged = (...hrefs: string[]): [typed: string, saved: string][] => hrefs.map((href) => [href, href])

const PUBLIC_NAMES = [
  ...words(`
      acme.com a.b.c.d.e.acme.com example.com acme.photography localhost.com local.acme.com corp.com
      localhost.acme.com mylocalhost.com notlocal.com 127.0.0.1.nip.io 1.acme.com 123.com 1-2-3.acme.com
      0x7f.acme.com 1.1.1.one a-b.acme-corp.com a--b.com r3---sn-4g5e6nsz.googlevideo.com
      hooks_prod.acme.com _hooks.acme.com x.co a.bc xn--bcher-kva.de xn--fiqs8s.xn--fiqs8s acme.xn--p1ai
      acme.xn--vermgensberatung-pwb acme.xn--mgbaam7a8h
    `),
  LONGEST_NAME,
  `${LONGEST_LABEL}.com`,
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
      /Zm9vYmFy /alias_ABCDEFGHIJKLMNOPQRST /?keyword=shoes /?monkey=1 /?secretary=a /?authority=x
      /?tokenize=1 /?public_key=x /?publicKey=x /?cookieless=1 /?obsession=1 /?email=a@b.com
      /?name=password /?type=token /?next=/token
    `),
]

export const ACCEPTED: [typed: string, saved: string][] = [
  ...unchanged(...PUBLIC_NAMES.map((name) => `https://${name}/`)),
  ...unchanged(...PUBLIC_PATHS.map((path) => `https://hooks.acme.com${path}`)),
  ...unchanged(...[1024, 1721, 6664, 8443, 65535].map((port) => `https://hooks.acme.com:${port}/`)),
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
  ['https://acme.com?a=b', 'https://acme.com/?a=b'],
  ['https://acme.com:443/', 'https://acme.com/'],
  ['https://acme.com:00443/', 'https://acme.com/'],
  ['https://acme.com/a/../b', 'https://acme.com/b'],
  ['https://acme.com/ä', 'https://acme.com/%C3%A4'],
  ['https://acme.com/?q=ä€😀', 'https://acme.com/?q=%C3%A4%E2%82%AC%F0%9F%98%80'],
  ['https://bücher.de/', 'https://xn--bcher-kva.de/'],
  ['https://faß.de/', 'https://xn--fa-hia.de/'],
  ['https://例え.公司/', 'https://xn--r8jz45g.xn--55qx5d/'],
  ['https://пример.рф/', 'https://xn--e1afmkfd.xn--p1ai/'],
  ['https://i❤️.ws/', 'https://xn--i-7iq.ws/'],
  ['https://acme。com/', 'https://acme.com/'],
  ['https://ⓐⓒⓜⓔ.ⓒⓞⓜ/', 'https://acme.com/'],
  ...words(`
      0x08080808 134744072 010.010.010.010 8.8.2056 8.526344 0x8.0x8.0x8.0x8 8.8.8.8. 0010.8.8.8
    `).map((host): [string, string] => [`https://${host}/`, 'https://8.8.8.8/']),
  ...MAPPED_DIGITS.map((digits): [string, string] => [
    `https://${inDigits('8.8.8.8', digits)}/`,
    'https://8.8.8.8/',
  ]),
  ...words(`[2606:4700:0:0:0:0:0:1111] [2606:4700:0000::1111] [2606:4700::0.0.17.17]`).map(
    (host): [string, string] => [`https://${host}/`, 'https://[2606:4700::1111]/'],
  ),
  ['https://[2A00:1450:4001:82A::200E]/', 'https://[2a00:1450:4001:82a::200e]/'],
]
