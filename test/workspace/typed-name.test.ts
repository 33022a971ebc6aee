import { strict as assert } from 'node:assert'
import { confirms } from '../../apps/workspace/src/ui/plain.ts'

describe('workspace: a name that is typed to confirm', () => {
  for (const [typed, name, other] of [
    ['Warehouse reports', 'Warehouse reports', 'cli_1'],
    ['  Warehouse   reports ', 'Warehouse reports', 'cli_1'],
    ['Zoe\u0308', 'Zo\u00eb', 'zoe@acme.example'],
    ['cli_Ab1', 'Warehouse reports', 'cli_Ab1'],
    ['Zoe@Acme.example', 'Zoë', 'zoe@acme.example'],
  ] as const) {
    it(`accepts ${JSON.stringify(typed)} for ${name} or ${other}`, () => {
      assert.equal(confirms(typed, name, other), true)
    })
  }

  for (const [typed, name, other] of [
    ['', 'Warehouse reports', 'cli_Ab1'],
    ['warehouse reports', 'Warehouse reports', 'cli_Ab1'],
    ['Warehouse', 'Warehouse reports', 'cli_Ab1'],
    ['cli_ab1', 'Warehouse reports', 'cli_Ab1'],
  ] as const) {
    it(`refuses ${JSON.stringify(typed)} for ${name} or ${other}`, () => {
      assert.equal(confirms(typed, name, other), false)
    })
  }
})
