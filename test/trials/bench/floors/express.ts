/*
 * What many would put together: Express and its usual JWT middleware as both their documentations set them up, which
 * finds the authorization server's keys by its metadata, and the same bytes. No revocation, no limit, no log.
 */
import { readFileSync } from 'node:fs'
import express from 'express'
import { auth, requiredScopes } from 'express-oauth2-jwt-bearer'

const { BENCH_ANSWERS = '', BENCH_ISSUER = '', BENCH_AUDIENCE = '', PORT } = process.env
const answers = new Map<string, { body: string }>(JSON.parse(readFileSync(BENCH_ANSWERS, 'utf8')))

const app = express()
app.use(auth({ issuerBaseURL: BENCH_ISSUER, audience: BENCH_AUDIENCE }))
app.get('/v1/analytics/:vendorId/daily', requiredScopes('analytics:read'), (request, response) => {
  response.type('application/json').send(answers.get(request.url)?.body)
})
app.listen(Number(PORT), '127.0.0.1')
process.once('disconnect', () => process.exit())
