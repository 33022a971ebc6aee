import { describeApi } from './routes.ts'

/** Prints the OpenAPI document of this version, as published at this address. Its reader may stop early. */
const baseUrl = 'https://integrations.example'
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 0 : 1))
process.stdout.write(`${JSON.stringify(describeApi({ issuer: baseUrl, apiResource: baseUrl }), null, 2)}\n`)
