import { parseArgs } from 'node:util'

export const HELP = `npm run bench -- [options]

Measures the services beside floors on this machine and prints the ratios: of speed by default, in about
15 minutes.

What is measured:
  --memory             in place of the speed, the memory of both services under load (npm run bench:long)
  --only TEXT          only rows with this in their name; --list shows the names

How much:
  --rounds N           rounds of each row, after warming up; default 10

What else:
  --list               show the rows and end
`

/** @throws Error that says which option is wrong. */
export function readOptions(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      memory: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      rounds: { type: 'string', default: '10' },
      list: { type: 'boolean', default: false },
    },
  })
  if (!/^[1-9]\d*$/.test(values.rounds)) throw new Error('--rounds must be a whole number from 1')
  return { ...values, rounds: Number(values.rounds) }
}
