import { z } from 'zod'
import { actor, instant, vendorId } from '../http/schemas.ts'

/** The value is not validated by a schema, but by the callback URL rules, each of which has its own code. */
export const CallbackInput = z
  .strictObject({
    callbackUrl: z.nonoptional(z.unknown(), 'must be there').meta({
      type: 'string',
      format: 'uri',
      maxLength: 2_048,
      description: 'A public HTTPS URL without credentials. It can be replaced, but not removed.',
      examples: ['https://hooks.example.com/events'],
    }),
  })
  .meta({ id: 'CallbackInput' })

export const Callback = z
  .object({
    vendorId,
    callbackUrl: z
      .string()
      .nullable()
      .meta({ description: 'The normalised URL; null if none was ever saved.' }),
    verified: z
      .boolean()
      .meta({ description: 'True if DNS answered when the URL was saved, with public addresses only.' }),
    updatedAt: instant.nullable(),
    updatedBy: actor.nullable(),
  })
  .meta({ id: 'Callback' })

const milliseconds = z.int().nonnegative()

export const CallbackTest = z
  .object({
    delivered: z
      .boolean()
      .meta({ description: 'True if a valid HTTP response came back, whatever its status.' }),
    status: z.int().nullable().meta({ description: 'The HTTP status that the receiver answered with.' }),
    outcome: z.enum(['success', 'receiver_failure', 'unconfirmed']).meta({
      description: 'success: 2xx. receiver_failure: any other status. unconfirmed: no answer.',
    }),
    durationMs: milliseconds,
    timings: z
      .object({
        dnsMs: milliseconds.nullable(),
        connectMs: milliseconds.nullable(),
        tlsMs: milliseconds.nullable(),
        // From the end of the TLS handshake.
        firstByteMs: milliseconds.nullable(),
      })
      .meta({ description: 'How long each phase took; null if it did not finish or was not needed.' }),
    url: z.string().meta({ description: 'The saved URL that the event was sent to.' }),
    sentAt: instant,
    receiver: z
      .object({ address: z.string(), certificateExpiresAt: instant.nullable() })
      .meta({ id: 'CallbackReceiver' })
      .nullable()
      .meta({ description: 'null if no connection was made.' }),
    log: z.array(z.string()).meta({
      description:
        'What happened and what the receiver answered: plain text without secrets. Show it as text, not as HTML.',
    }),
    advice: z.string().meta({ description: 'What to do next, in one sentence.' }),
  })
  .meta({ id: 'CallbackTest' })

export type TestResult = z.infer<typeof CallbackTest>
