import { DAY_MS, HOUR_MS, type Machine, MINUTE_MS, type Simulated } from './rotation-simulation.ts'

/** The first day that is simulated, a Wednesday. The clock changes on 25 October. */
const BEGIN_MS = Date.UTC(2026, 6, 1)
const SUMMER_ENDS_MS = Date.UTC(2026, 9, 25, 1)

export interface Caller {
  name: string
  /** Several machines behind one address: no evidence shows the last one until it comes back. */
  hidden?: true
  /** Whether its period stays the same, so that `safe` can be expected within one. */
  steady: boolean
  create(random: () => number): Simulated
}

type Random = () => number
type Runs = (random: Random, to_ms: number) => number[]

const between = (random: Random, from: number, to: number): number => from + random() * (to - from)

/** Every `every_ms` from a random begin on, each up to `jitter_ms` later. */
const each =
  (every_ms: number, jitter_ms: number): Runs =>
  (random, to_ms) => {
    const uses: number[] = []
    for (let at_ms = BEGIN_MS + random() * every_ms; at_ms < to_ms; at_ms += every_ms)
      uses.push(Math.floor(at_ms + random() * jitter_ms))
    return uses
  }

/** In Berlin, at this time of the days that fit; several tokens in the first 20 minutes. */
const local =
  (fits: (day: Date) => boolean, hour: number, tokens = 1): Runs =>
  (random, to_ms) => {
    const uses: number[] = []
    for (let day_ms = BEGIN_MS; day_ms < to_ms; day_ms += DAY_MS) {
      if (!fits(new Date(day_ms))) continue
      const at_ms = day_ms + (hour - (day_ms + hour * HOUR_MS < SUMMER_ENDS_MS ? 2 : 1)) * HOUR_MS
      for (let token = 0; token < tokens; token++)
        uses.push(Math.floor(at_ms + ((token + random()) / tokens) * 20 * MINUTE_MS))
    }
    return uses
  }

const onWeekDays =
  (...weekDays: number[]) =>
  (day: Date) =>
    weekDays.includes(day.getUTCDay())

const officeHours: Runs = (random, to_ms) =>
  [9, 10, 11, 12, 13, 14, 15, 16]
    .flatMap((hour) => local(onWeekDays(1, 2, 3, 4, 5), hour, 4)(random, to_ms))
    .sort((a, b) => a - b)

/** Up to 30 tokens within 10 minutes, then a pause of 2 to 20 hours. */
const bursts: Runs = (random, to_ms) => {
  const uses: number[] = []
  for (let at_ms = BEGIN_MS; at_ms < to_ms; at_ms += between(random, 2, 20) * HOUR_MS)
    for (let token = Math.ceil(random() * 30); token > 0; token--)
      uses.push(Math.floor(at_ms - token * 20_000))
  return uses
}

const MINUTELY = each(MINUTE_MS, 20_000)
const BUSY = each(5 * MINUTE_MS, MINUTE_MS)
const HOURLY = each(HOUR_MS, 3 * MINUTE_MS)
const NIGHTLY = local(() => true, 2, 3)
const WEEKLY = local(onWeekDays(1), 3)
const MONTHLY = local((day) => day.getUTCDate() === 1, 4)

const machine = (address: string, uses_ms: number[], movedAt_ms: number): Machine => ({
  address,
  uses_ms: uses_ms.sort((a, b) => a - b),
  movedAt_ms,
})

interface Options {
  /** How long the old client was in use before it is replaced. */
  history_days?: number
  period_ms: number
}

/** One machine, moved at a random time within one and a half periods of the creation. */
const one =
  (runs: Runs, { history_days = 62, period_ms }: Options) =>
  (random: Random): Simulated => {
    const rotatedAt_ms = Math.floor(BEGIN_MS + (history_days + random() * 7) * DAY_MS)
    const movedAt_ms = rotatedAt_ms + Math.floor((0.1 + random() * 1.4) * period_ms)
    const endsAt_ms = movedAt_ms + Math.ceil(period_ms * 3 + 2 * HOUR_MS)
    const step_ms = Math.max(MINUTE_MS, Math.floor(period_ms / 150))
    const machines = [machine('192.0.2.1', runs(random, endsAt_ms), movedAt_ms)]
    return { machines, rotatedAt_ms, endsAt_ms, step_ms }
  }

/** Two of three machines are moved within three days, the third long after. */
const threeMachines =
  (runs: [Runs, Runs, Runs], addresses: string[]) =>
  (random: Random): Simulated => {
    const rotatedAt_ms = Math.floor(BEGIN_MS + (62 + random() * 7) * DAY_MS)
    const endsAt_ms = rotatedAt_ms + 45 * DAY_MS
    const machines = runs.map((of, index) => {
      const moved_days = index < 2 ? between(random, 0.1, 3) : between(random, 23, 25)
      const address = addresses[index] ?? (addresses[0] as string)
      return machine(address, of(random, endsAt_ms), rotatedAt_ms + Math.floor(moved_days * DAY_MS))
    })
    return { machines, rotatedAt_ms, endsAt_ms, step_ms: HOUR_MS }
  }

/** Someone tries the old client from a laptop once, weeks before. */
function withTrial(simulated: Simulated): Simulated {
  const { machines, rotatedAt_ms } = simulated
  const trial = machine('198.51.100.9', [rotatedAt_ms - 20 * DAY_MS], rotatedAt_ms)
  return { ...simulated, machines: [...machines, trial] }
}

/** The replacement is tried from the machine itself at noon, long before that machine is moved. */
function triedEarly(simulated: Simulated): Simulated {
  const [first] = simulated.machines as [Machine]
  const curl = machine(first.address, [simulated.rotatedAt_ms + 20 * MINUTE_MS], simulated.rotatedAt_ms)
  return { ...simulated, machines: [first, curl] }
}

/** Nothing gets a token from `from` to `to` days after the creation of the replacement. */
function withOutage(simulated: Simulated, from: number, to: number): Simulated {
  const { machines, rotatedAt_ms } = simulated
  const out = (at_ms: number) => at_ms > rotatedAt_ms + from * DAY_MS && at_ms < rotatedAt_ms + to * DAY_MS
  return {
    ...simulated,
    machines: machines.map((one) => ({ ...one, uses_ms: one.uses_ms.filter((at_ms) => !out(at_ms)) })),
  }
}

const THREE = ['192.0.2.1', '192.0.2.2', '192.0.2.3']
const ONE = ['192.0.2.1']
const nightly = one(NIGHTLY, { period_ms: DAY_MS })

export const CALLERS: Caller[] = [
  { name: 'each minute', steady: true, create: one(MINUTELY, { period_ms: HOUR_MS }) },
  { name: 'every hour', steady: true, create: one(HOURLY, { period_ms: HOUR_MS }) },
  { name: 'every night', steady: true, create: nightly },
  {
    name: 'Monday to Friday',
    steady: true,
    create: one(local(onWeekDays(1, 2, 3, 4, 5), 7), { period_ms: 3 * DAY_MS }),
  },
  {
    name: 'Tuesday and Friday',
    steady: true,
    create: one(local(onWeekDays(2, 5), 3), { period_ms: 4 * DAY_MS }),
  },
  { name: 'every Monday', steady: true, create: one(WEEKLY, { period_ms: 7 * DAY_MS }) },
  {
    name: 'the first of a month',
    steady: true,
    create: one(MONTHLY, { history_days: 95, period_ms: 31 * DAY_MS }),
  },
  { name: 'office hours', steady: true, create: one(officeHours, { period_ms: 3 * DAY_MS }) },
  {
    name: 'every night, over the end of summer time',
    steady: true,
    create: one(NIGHTLY, { history_days: 112, period_ms: DAY_MS }),
  },
  {
    name: 'every night, and a trial from a laptop',
    steady: true,
    create: (random) => withTrial(nightly(random)),
  },
  { name: 'bursts, 2 to 20 hours apart', steady: false, create: one(bursts, { period_ms: DAY_MS }) },
  {
    name: 'every night, the replacement tried there early',
    steady: false,
    create: (random) => triedEarly(one(NIGHTLY, { period_ms: 4 * DAY_MS })(random)),
  },
  {
    name: 'every night, an outage of three nights before',
    steady: false,
    create: (random) => withOutage(one(NIGHTLY, { period_ms: 4 * DAY_MS })(random), -30, -27),
  },
  {
    name: 'each minute, an outage of six hours after the creation',
    steady: false,
    create: (random) => withOutage(one(MINUTELY, { period_ms: 3 * DAY_MS })(random), 0.01, 0.26),
  },
  {
    name: 'three machines, the weekly one moved last',
    steady: false,
    create: threeMachines([BUSY, HOURLY, WEEKLY], THREE),
  },
  {
    name: 'three machines, the nightly one moved last',
    steady: false,
    create: threeMachines([BUSY, HOURLY, NIGHTLY], THREE),
  },
  {
    name: 'behind one address: three hourly machines, moved one by one',
    steady: false,
    hidden: true,
    create: threeMachines([HOURLY, HOURLY, HOURLY], ONE),
  },
  {
    name: 'behind one address: two busy machines and an hourly one, moved last',
    steady: false,
    hidden: true,
    create: threeMachines([BUSY, BUSY, HOURLY], ONE),
  },
  {
    name: 'behind one address: two busy machines and a weekly one, moved last',
    steady: false,
    hidden: true,
    create: threeMachines([BUSY, BUSY, WEEKLY], ONE),
  },
  {
    name: 'Monday to Friday, in its first week',
    steady: false,
    create: one(local(onWeekDays(1, 2, 3, 4, 5), 7), { history_days: 5, period_ms: 7 * DAY_MS }),
  },
]
