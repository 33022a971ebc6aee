import assert from 'node:assert/strict'
import { startChild } from '../../infra/local/child.ts'
import { passing } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'

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

  it('is killed if it has not ended ten seconds after it was told to', async () => {
    const program = `process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6); console.log('deaf')`
    const child = startChild(process.execPath, ['-e', program])
    await eventually(() => child.output() === 'deaf')
    await passing(10_000, () => child.stop())
    assert.equal(child.end(), 'SIGKILL')
  })
})
