import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import openapiTS, { astToString } from 'openapi-typescript'

/*
 * Writes the types of the API from its OpenAPI document, which comes on standard input. A file that is current is left
 * as it is, so that the screens are not built again.
 */
const FILE = join(import.meta.dirname, 'src/api/openapi.d.ts')

// A member with a default may be left out of a request.
const types = await openapiTS(JSON.parse(await text(process.stdin)), { defaultNonNullable: false })
const written = astToString(types)
if (written !== current()) writeFileSync(FILE, written)

function current(): string | undefined {
  try {
    return readFileSync(FILE, 'utf8')
  } catch {
    return undefined
  }
}
