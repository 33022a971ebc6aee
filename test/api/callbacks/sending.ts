import assert from 'node:assert/strict'
import { systemClock } from '#shared/process/clock.ts'
import { createTestSender, type TestSender } from '../../../apps/api/callbacks/sender.ts'
import type { TestResult } from '../../../apps/api/callbacks/test-result.ts'
import { type AddressRule, createAddressRule } from '../../../apps/api/guarded-fetch/address-verdict.ts'
import type { Resolution, Resolve } from '../../../apps/api/guarded-fetch/resolver.ts'
import { authority } from '../../support/receivers.ts'

const realRule = createAddressRule()

/** The real rule, but that the given loopback addresses count as public. */
export const ruleWith =
  (...addresses: string[]): AddressRule =>
  (address) =>
    addresses.includes(address) ? { public: true, address } : realRule(address)

export const createResolution = (...addresses: string[]) => ({ addresses, complete: true, failure: null })

/** A resolver that gives the answers in turn, the last one from then on, and counts. */
export function resolverWith(...answers: Resolution[]): { resolve: Resolve; names: string[] } {
  const names: string[] = []
  return {
    names,
    async resolve(name) {
      names.push(name)
      return answers[Math.min(names.length, answers.length) - 1] as Resolution
    },
  }
}

/** Where every name is on loopback. */
export const TEST_INTERNET = {
  resolve: resolverWith(createResolution('127.0.0.1')).resolve,
  checkAddress: ruleWith('127.0.0.1'),
  certificateAuthority: authority.pem,
}

export interface SendingOptions {
  resolve?: Resolve
  checkAddress?: AddressRule
  certificateAuthority?: string | undefined
}

export const senderFor = (options: SendingOptions = {}): TestSender =>
  createTestSender({ clock: systemClock, ...TEST_INTERNET, ...options })

/** Sends one test event to `url` and expects a result. */
export async function sendTo(url: string, options?: SendingOptions): Promise<TestResult> {
  const sender = senderFor(options)
  const { result } = await sender.send({ url, vendorId: 'ven_acme', signal: new AbortController().signal })
  if (!result) throw new Error('the send was stopped')
  return result
}

/** Asserts that nothing is known of the event, and what its sender is advised. */
export function assertUnconfirmed(result: TestResult, advice: RegExp): void {
  const { delivered, status, outcome } = result
  assert.deepEqual({ delivered, status, outcome }, { delivered: false, status: null, outcome: 'unconfirmed' })
  assert.match(result.advice, advice)
}
