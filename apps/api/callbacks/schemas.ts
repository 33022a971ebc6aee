import { z } from 'zod'
import { actor, instant, vendorId } from '../http/schemas.ts'
import type { TestResult } from './report.ts'

/** The value is judged by the rules of callback URLs, each with a code of its own, and not by a schema. */
export const NewCallback = z
  .strictObject({
    callbackUrl: z.nonoptional(z.unknown(), 'must be there').meta({
      type: 'string',
      format: 'uri',
      maxLength: 2_048,
      description: 'A public HTTPS URL without credentials. It can be replaced, but not removed.',
      examples: ['https://hooks.example.com/events'],
    }),
  })
  .meta({ id: 'NewCallback' })

export const Callback = z
  .object({
    vendorId,
    callbackUrl: z
      .string()
      .nullable()
      .meta({ description: 'In its normal form; null: none was ever saved.' }),
    verified: z
      .boolean()
      .meta({ description: 'DNS answered when it was saved, and with nothing but public addresses.' }),
    updatedAt: instant.nullable(),
    updatedBy: actor.nullable(),
  })
  .meta({ id: 'Callback' })

const milliseconds = z.int().nonnegative()

export const CallbackTest = z
  .object({
    delivered: z.boolean().meta({ description: 'A valid HTTP answer came back, whatever its status.' }),
    status: z.int().nullable().meta({ description: 'The HTTP status of the receiver.' }),
    outcome: z.enum(['success', 'receiver_failure', 'unconfirmed']).meta({
      description: 'success: 2xx. receiver_failure: any other status. unconfirmed: no answer.',
    }),
    durationMs: milliseconds,
    timings: z
      .object({
        dnsMs: milliseconds.nullable(),
        connectMs: milliseconds.nullable(),
        tlsMs: milliseconds.nullable(),
        firstByteMs: milliseconds.nullable(),
      })
      .meta({ description: 'How long each phase took; null: not finished, or not needed.' }),
    url: z.string().meta({ description: 'The saved URL that the event was sent to.' }),
    sentAt: instant,
    receiver: z
      .object({ address: z.string(), certificateExpiresAt: instant.nullable() })
      .nullable()
      .meta({ description: 'null: nothing was connected.' }),
    log: z.array(z.string()).meta({
      description:
        'What happened and what the receiver answered, as plain text without secrets. Show it as text.',
    }),
    advice: z.string().meta({ description: 'One sentence for the person.' }),
  })
  .meta({ id: 'CallbackTest' }) satisfies z.ZodType<TestResult>
