import { strict as assert } from 'node:assert'
import { pathTo, type Screen, screenAt } from '../../apps/workspace/src/api/screens.ts'

describe('workspace: the addresses of screens', () => {
  for (const [screen, id, address, section] of [
    ['clients', undefined, '/ven_a/integrations/oauth2-clients', 'clients'],
    ['rotation', 'cli_x', '/ven_a/integrations/oauth2-clients/cli_x/rotate', 'clients'],
    ['explain', undefined, '/ven_a/explain', 'explain'],
    ['explain', '$&/?', '/ven_a/explain/%24%26%2F%3F', 'explain'],
  ] satisfies [Screen, string | undefined, string, Screen][])
    it(`leads to ${address}, which belongs to ${section}`, () => {
      assert.equal(pathTo('ven_a', screen, id), address)
      assert.equal(screenAt(address), section)
    })

  for (const address of ['/ven_a', '/ven_a/nothing', '/ven_a/peoples', '/'])
    it(`knows no screen at ${address}`, () => assert.equal(screenAt(address), undefined))
})
