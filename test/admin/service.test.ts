import assert from 'node:assert/strict'
import { refused, sharedAdmin } from '../support/admin.ts'

describe('admin service', () => {
  const operator = sharedAdmin()

  for (const [name, sentence] of [
    ['', 'The name must have 1 to 100 characters.\n'],
    ['x'.repeat(101), 'The name must have 1 to 100 characters.\n'],
    ['a\u202Eb', 'The name must be one line of plain text without invisible characters.\n'],
  ] as const)
    it(`refuses a service’s name ${JSON.stringify(name.slice(0, 5))} of ${name.length} characters`, async () => {
      const before = await operator.db('services')
      await refused(operator.admin(['service', 'create', '--name', name]), sentence)
      assert.deepEqual(await operator.db('services'), before)
    })
})
