import { format } from 'node:util'
import Mocha from 'mocha'
import { SECRET_SHAPES } from '../../apps/api/guarded-fetch/secret-shapes.ts'

/** Returns the text with only the ends of each secret, which tell two of them apart. */
export const redact = (text: string): string =>
  SECRET_SHAPES.reduce(
    (redacted, shape) => redacted.replace(shape, (secret) => `${secret.slice(0, 4)}…${secret.slice(-4)}`),
    text,
  )

// Every reporter prints failures with it. Tests create real tokens and secrets, and a log of CI is kept.
Mocha.reporters.Base.consoleLog = (...parts: unknown[]) => console.log(redact(format(...parts)))
