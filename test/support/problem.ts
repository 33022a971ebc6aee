import assert from 'node:assert/strict'
import { PROBLEMS, type ProblemCode } from '../../apps/api/problems/problems.ts'
import type { ApiResponse } from './api.ts'

/** Asserts that an answer is this problem, whole and well formed (RFC 9457). */
export function assertProblem(response: ApiResponse, code: ProblemCode): void {
  assert.equal(response.json?.code, code, response.text)
  assert.equal(response.status, PROBLEMS[code].status)
  assert.equal(response.headers.get('content-type'), 'application/problem+json')
  assert.equal(response.headers.get('cache-control'), 'no-store')
  assert.equal(response.json.type, `https://api.test/docs/errors#problem-${code}`)
  assert.equal(response.json.title, PROBLEMS[code].title)
  assert.equal(response.json.status, response.status)
  assert.equal(response.json.requestId, response.headers.get('x-request-id'))
  assert.equal(typeof response.json.detail, 'string')
  if ([429, 503].includes(response.status)) assert.ok(Number(response.headers.get('retry-after')) > 0)
}

/** Asserts 422 invalid_input whose errors[] point exactly there. */
export function assertInvalid(response: ApiResponse, ...pointers: string[]): void {
  assertProblem(response, 'invalid_input')
  assert.deepEqual(
    response.json.errors.map(({ pointer }: { pointer: string }) => pointer),
    pointers,
    response.text,
  )
  for (const { detail } of response.json.errors) assert.match(detail, /^(must|is) /)
}

/** Asserts that all answers are this problem, with the same bytes but for their request ids. */
export function assertAlike(answers: ApiResponse[], code: ProblemCode): void {
  for (const answer of answers) {
    assertProblem(answer, code)
    assert.deepEqual({ ...answer.json, requestId: '' }, { ...answers[0]?.json, requestId: '' })
  }
}

export const assertStatuses = (answers: { status: number }[], ...statuses: number[]): void =>
  assert.deepEqual(
    answers.map(({ status }) => status),
    statuses,
  )
