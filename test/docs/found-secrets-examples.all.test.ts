import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { CLIENT_SECRET_PATTERN } from '#shared/oauth/ids.ts'
import { newClientSecret } from '../../apps/api/accounts/new-ids.ts'
import { read } from '../support/project.ts'

const PAGE = read('apps/api/discovery/docs/pages/found-secrets.md')
const findBlock = (caption: string): string =>
  new RegExp(`\`\`\`${caption}\n([\\s\\S]*?)\`\`\``).exec(PAGE)?.[1] ?? assert.fail(caption)

describe('documentation: how a scanner recognizes a client secret', () => {
  const secret = newClientSecret()
  const wrong = secret.slice(0, -1) + (secret.endsWith('a') ? 'b' : 'a')

  it('prints the pattern of client secrets', () => {
    const pattern = new RegExp(`^${findBlock('regex').trim()}$`)
    assert.ok(pattern.source.includes(CLIENT_SECRET_PATTERN.source))
    for (let index = 0; index < 100; index += 1) assert.match(newClientSecret(), pattern)
  })

  for (const [name, caption, check] of [
    ['Node', 'js checksum.mjs', (text: string) => [process.execPath, '--input-type=module', '-', text]],
    ['Python', 'py checksum.py', (text: string) => ['python3', '-', text]],
  ] as const)
    it(`tells a secret from noise with the ${name} example`, () => {
      const says = (text: string) => {
        const [program = '', ...args] = check(text)
        const said = execFileSync(program, args, { input: findBlock(caption), encoding: 'utf8' })
        return said.trim().toLowerCase() === 'true'
      }
      assert.equal(says(secret), true)
      for (const noise of [wrong, `${secret}a`, secret.slice(0, -1), `ias_${'0'.repeat(49)}`])
        assert.equal(says(noise), false, noise)
    })
})
