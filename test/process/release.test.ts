import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { AUDITED, NOT_AUDITED } from '#shared/process/events.ts'
import { find, read } from '../support/project.ts'

/** A row of the runbook's table of the log: events, service, level, fields, then "yes" if audited. */
const EVENT_ROW = /^\| (`[a-z_.`, ]+`) \| (auth|API|both|your own)[^|]*\| ([^|]*) \|([^|]*)\| (yes )?\|/gm

describe('a release', () => {
  const sources = find('{apps/{api,auth},shared,infra/admin}/**/*.ts')
    .filter((file) => file !== 'shared/process/events.ts')
    .map((file) => ({ folder: dirname(file), text: read(file) }))
  const rows = [...read('infra/runbook/failures.md').matchAll(EVENT_ROW)].map(
    ([, names = '', service = '', level = '', fields = '', audited]) => ({
      names: [...names.matchAll(/`([a-z_.]+)`/g)].map(([, name = '']) => name),
      ...{ service, level, fields, audited: audited !== undefined },
    }),
  )

  it('explains each event of the log in the runbook, and says which are audited', () => {
    const named = (is: boolean) => rows.flatMap(({ names, audited }) => (audited === is ? names : []))
    assert.deepEqual(named(true).sort(), [...AUDITED].sort())
    assert.deepEqual(named(false).sort(), [...NOT_AUDITED].sort())
  })

  for (const { names, service, level, fields } of rows)
    it(`explains of ${names.join(' and ')} its service, its levels, and only fields that are beside it in the code`, () => {
      const folders = sources.flatMap(({ folder, text }) =>
        names.some((name) => text.includes(`'${name}'`)) ? folder : [],
      )
      const apps = ['auth', 'API'].filter((app) => folders.join().includes(`apps/${app.toLowerCase()}`))
      const others = folders.includes('shared/access-tokens') ? 'your own' : 'both'
      assert.equal(service, apps.length === 1 ? apps[0] : others)
      const code = sources.flatMap(({ folder, text }) => (folders.includes(folder) ? text : [])).join('\n')
      const levels = names.flatMap((name) => [
        ...code.matchAll(new RegExp(`(?:log\\.(\\w+)\\(\\s*\\{ |level: '(\\w+)', )event: '${name}'`, 'g')),
      ])
      for (const [, called, given] of levels)
        assert.ok(level.split(/\W+/).includes(called ?? given ?? ''), level)
      const words = new Set(code.match(/\w+/g))
      // In brackets: what else the value may name.
      const written = [...fields.replace(/\(of .*?\)/, '').matchAll(/`([^`]+)`/g)].flatMap(([, field = '']) =>
        field.match(/\w+/g),
      )
      for (const word of written) if (word) assert.ok(words.has(word), word)
    })

  it('has no event that nothing logs', () => {
    const logged = sources.flatMap(({ text }) =>
      [...text.matchAll(/\bevent: '([a-z_.]+)'/g)].map(([, name]) => name),
    )
    assert.deepEqual([...new Set(logged)].sort(), [...AUDITED, ...NOT_AUDITED].sort())
  })
})
