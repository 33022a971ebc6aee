import { parseArgs } from 'node:util'
import type { Conditions, Part } from './row.ts'

export const HELP = `npm run bench -- [options]

Measures the services beside floors on this machine and prints the ratios. Without a part: the speed, in about 15 minutes.

What is measured:
  --growth             in place of the speed, how costs grow with clients, days and events
  --memory             in place of it, the memory of both services under load (npm run bench:long)
  --only TEXT          only rows with this in their name; --list shows the names

How much:
  --rounds N           rounds of each row, after warming up; default 10
  --seconds N          of each load in a round; default 1
  --connections N      of a load; default 16
  --minutes N          for which memory is watched; default 10

What becomes of it:
  --json FILE          write the figures as JSON
  --save               keep the rows that were measured in results/, in the file of this model of CPU, and write
                       the table of the README from all files
  --list               show the rows and end
  --help               show this and end
`

export interface Options {
  parts: Set<Part>
  only: string
  conditions: Conditions
  json: string | undefined
  save: boolean
  list: boolean
  help: boolean
}

/** @throws Error that says which option is wrong. */
export function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      growth: { type: 'boolean', default: false },
      memory: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      rounds: { type: 'string', default: '10' },
      seconds: { type: 'string', default: '1' },
      connections: { type: 'string', default: '16' },
      minutes: { type: 'string', default: '10' },
      json: { type: 'string' },
      save: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const asked = (['growth', 'memory'] as const).filter((part) => values[part])
  return {
    ...values,
    parts: new Set<Part>(asked.length > 0 ? asked : ['speed']),
    conditions: {
      rounds: wholeNumber('rounds', values.rounds),
      seconds: wholeNumber('seconds', values.seconds),
      connections: wholeNumber('connections', values.connections),
      minutes: wholeNumber('minutes', values.minutes),
    },
    json: values.json,
  }
}

function wholeNumber(name: string, text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new Error(`--${name} must be a whole number from 1`)
  return Number(text)
}
