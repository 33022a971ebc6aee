import assert from 'node:assert/strict'
import { pino } from 'pino'
import { infoLines } from '#shared/process/log-line.ts'

describe('lines that are written past pino', () => {
  const fields = { event: 'tried', text: 'a "quoted"\nline \u2028', nothing: undefined }
  const logged = (level: string) => {
    const lines: string[] = []
    const log = pino({ level, base: { service: 'auth', pid: 1 } }, { write: (line) => void lines.push(line) })
    return { log, lines, write: infoLines(log) }
  }

  it('are those that pino would have written', () => {
    const { log, lines, write } = logged('info')
    log.info(fields, 'tried "it"')
    write(fields, 'tried "it"')
    const [byPino, written] = lines.map((line) => JSON.parse(line))
    assert.match(lines[1] ?? '', /^[^\n]*\n$/)
    assert.deepEqual(Object.keys(written), Object.keys(byPino))
    assert.match(written.time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.deepEqual({ ...written, time: 0 }, { ...byPino, time: 0 })
  })

  it('are left out above level info', () => {
    for (const level of ['warn', 'silent']) {
      const { lines, write } = logged(level)
      write({ event: 'tried' }, 'tried')
      assert.deepEqual(lines, [])
    }
  })
})
