import assert from 'node:assert/strict'
import { startChild } from '../../infra/local/child.ts'

describe('a child process', () => {
  it('keeps a character of its output whose bytes arrive in two pieces', async () => {
    const program = `
      process.stdout.write(Buffer.of(0xc3))
      setTimeout(() => process.stdout.write(Buffer.of(0xab)), 100)
    `
    const child = startChild(process.execPath, ['-e', program])
    assert.equal(await child.ended, 'exit code 0')
    assert.equal(child.output(), 'ë')
  })
})
