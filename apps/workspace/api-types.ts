import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import openapiTS, { astToString } from 'openapi-typescript'

/* Reads the API's OpenAPI document from standard input, and writes its types to the screens' folder. */
const document = JSON.parse(await text(process.stdin))
// A member with a default may be left out of a request.
const types = await openapiTS(document, { defaultNonNullable: false })
writeFileSync(join(import.meta.dirname, 'src/api/openapi.d.ts'), astToString(types))
