import assert from 'node:assert/strict'
import { find, read } from '../support/project.ts'

const TITLE = /\b(?:it|describe)\(\s*(['"`])((?:\\.|(?!\1).)*)\1/g

/** Returns the titles of the tests in a file, with `…` for what differs from case to case. */
function readTitles(file: string): Set<string> {
  const text = find(file).map(read).join()
  return new Set([...text.matchAll(TITLE)].map(([, , title = '']) => title.replaceAll(/\$\{[^}]*\}/g, '…')))
}

/** Asserts that each `file: title` in the text names a test. `folder` is that of the files, from the root. */
export function assertNamedTests(
  text: string,
  { folder, requirement }: { folder: string; requirement: string },
): void {
  for (const [, name = '', title = ''] of text.matchAll(/`([\w./-]+): ([^`]+)`/g)) {
    const titles = readTitles(`${folder}/${name}.test.ts`)
    assert.ok(titles.has(title), `${requirement}: ${name} has no test "${title}"`)
  }
}
