import { boundsText, type Goal, goalText } from './goals.ts'

/** A measured ratio, drawn as a bar beside its goal. */
export interface Bar {
  label: string
  /** What the ratio is to. */
  beside: string
  ratio: number
  goal: Goal
  met: boolean
}

const WIDTH = 900
const MARGIN = 20
const HEAD = 76
const ROW = 46
const SCALE_LEFT = 430
const SCALE_WIDTH = 330
const BAR_HEIGHT = 18

const STYLE = `
  text { font: 13px system-ui, sans-serif; fill: #1f2937 }
  .title { font-size: 17px; font-weight: 600 }
  .small { font-size: 11px; fill: #5b6472 }
  .paper { fill: #fff }
  .scale { fill: #e5e7eb }
  .met { fill: #15803d }
  .missed { fill: #c2410c }
  .goal { stroke: #1f2937; stroke-width: 2 }
  .moonshot { stroke: #1f2937; stroke-width: 2; stroke-dasharray: 2 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e5e7eb }
    .small { fill: #a8b1bf }
    .paper { fill: #111827 }
    .scale { fill: #374151 }
    .met { fill: #4ade80 }
    .missed { fill: #fb923c }
    .goal, .moonshot { stroke: #f9fafb }
  }`

/** The ratios as a standalone SVG. Each has a scale of its own, from nothing to twice its goal. */
export function drawChart(title: string, bars: readonly Bar[]): string {
  const height = HEAD + bars.length * ROW + MARGIN
  const spoken = bars.map(
    ({ label, beside, ratio, goal, met }) =>
      `${label}, beside ${beside}: ${number(ratio)}, goal ${goalText(goal)}, ${met ? 'met' : 'missed'}.`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title description">
<title id="title">${escaped(title)}</title>
<desc id="description">${escaped(spoken.join(' '))}</desc>
<style>${STYLE}
</style>
<rect class="paper" width="${WIDTH}" height="${height}" rx="8"/>
<text class="title" x="${MARGIN}" y="32">${escaped(title)}</text>
<text class="small" x="${MARGIN}" y="54">The line is the goal, the dotted one a moonshot; each scale ends at twice its goal. Where the goal is “≤”, shorter is better.</text>
${bars.map((bar, i) => drawBar(bar, HEAD + i * ROW)).join('\n')}
</svg>
`
}

function drawBar({ label, beside, ratio, goal, met }: Bar, top: number): string {
  const mark = goal.least ?? goal.most ?? 1
  const x = (value: number) => SCALE_LEFT + Math.min(1, value / (2 * mark)) * SCALE_WIDTH
  const line = (value: number, className: string) =>
    `<line class="${className}" x1="${x(value).toFixed(1)}" x2="${x(value).toFixed(1)}" y1="${top + 2}" y2="${top + 10 + BAR_HEIGHT}"/>`
  const bar = (className: string, end: number) =>
    `<rect class="${className}" x="${SCALE_LEFT}" y="${top + 6}" width="${(end - SCALE_LEFT).toFixed(1)}" height="${BAR_HEIGHT}" rx="2"/>`
  return [
    `<text x="${MARGIN}" y="${top + 16}">${escaped(label)}</text>`,
    `<text class="small" x="${MARGIN}" y="${top + 31}">beside ${escaped(beside)}</text>`,
    bar('scale', SCALE_LEFT + SCALE_WIDTH),
    bar(met ? 'met' : 'missed', x(ratio)),
    line(mark, 'goal'),
    ...(goal.moonshot === undefined ? [] : [line(goal.moonshot, 'moonshot')]),
    `<text x="${SCALE_LEFT + SCALE_WIDTH + 12}" y="${top + 14}">${number(ratio)} ${met ? '✓' : '✗'}</text>`,
    `<text class="small" x="${SCALE_LEFT + SCALE_WIDTH + 12}" y="${top + 29}">goal ${boundsText(goal)}</text>`,
  ].join('\n')
}

const number = (value: number): string => value.toFixed(2)

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escaped = (text: string): string => text.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? '')
