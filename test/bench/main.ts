import { parseArgs } from 'node:util'
import { type Conditions, measureInterleaved } from './comparison.ts'
import { dailyComparisons, tokenComparisons } from './scenarios.ts'
import { createWorld } from './world.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '16' },
    only: { type: 'string', default: '' },
  },
})
const conditions: Conditions = {
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  connections: Number(values.connections),
}
/** A newly named Redis server is trusted after 6 s; until then every question goes to Postgres. */
const TRUST_MS = 9_000

const world = await createWorld()
try {
  const auth = await world.startAuth()
  const api = await world.startApi(auth.url)
  await new Promise((resolve) => setTimeout(resolve, TRUST_MS))
  const comparisons = [
    ...(await tokenComparisons(world, auth)),
    ...(await dailyComparisons(world, auth, api)),
  ]
  for (const { what, beside, goal, meets, subjects } of comparisons.filter(({ what }) =>
    what.includes(values.only),
  )) {
    const [ours, other] = await measureInterleaved(subjects, conditions)
    if (!ours || !other) throw new Error('nothing was measured')
    const ratio = ours.perSecond.median / other.perSecond.median
    const cpuRatio = ours.perCpuSecond.median / other.perCpuSecond.median
    const line = `${meets(ratio) ? 'met   ' : 'missed'} ${ratio.toFixed(2)} (${goal}; per CPU ${cpuRatio.toFixed(2)})  ${what} beside ${beside}`
    console.log(line)
    for (const { name, perSecond, p50_ms, p99_ms, busy } of [ours, other]) {
      console.log(
        `         ${name}: ${Math.round(perSecond.median)}/s (${Math.round(perSecond.min)}–${Math.round(perSecond.max)}), p50 ${p50_ms.median.toFixed(2)} ms, p99 ${p99_ms.median.toFixed(2)} ms, ${busy.median.toFixed(2)} cores`,
      )
    }
  }
} finally {
  await world.stop()
}
