import { describeApi } from './app.ts'

/** Prints the OpenAPI document of this version, as a service at this address would publish it. */
const baseUrl = 'https://integrations.example'
process.stdout.write(`${JSON.stringify(describeApi({ issuer: baseUrl, apiResource: baseUrl }), null, 2)}\n`)
