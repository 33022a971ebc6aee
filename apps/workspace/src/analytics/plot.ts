import './usable-language.ts'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import type { DailyAnalytics, Metric } from '../api/contract.ts'
import { dateShort, metricShort } from './format.ts'

const HATCH_PX = 6
const AXIS_FONT = '12px "Atkinson Hyperlegible Next Variable", system-ui, sans-serif'

export interface Plot {
  /** Marks a day, by its place in the range. */
  point(index: number): void
  destroy(): void
}

export interface PlotOptions {
  daily: DailyAnalytics
  /** Drawn as a line, day beside day. */
  before: DailyAnalytics | undefined
  metric: Metric
  /** Called with the day that the pointer is over; undefined when it has left. */
  onPoint: (index: number | undefined) => void
}

/** Draws the chart into `place`, as large as it is, in the colours of the theme, and again when either changes. */
export function createPlot(place: HTMLElement, options: PlotOptions): Plot {
  let plot = draw(place, options)
  const again = () => {
    plot.destroy()
    plot = draw(place, options)
  }
  const sizes = new ResizeObserver(() => plot.setSize(sizeOf(place)))
  sizes.observe(place)
  const dark = matchMedia('(prefers-color-scheme: dark)')
  dark.addEventListener('change', again)
  const themes = new MutationObserver(again)
  themes.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  return {
    point(index) {
      plot.setCursor({ left: plot.valToPos(index, 'x'), top: 10 }, false)
    },
    destroy() {
      sizes.disconnect()
      themes.disconnect()
      dark.removeEventListener('change', again)
      plot.destroy()
    },
  }
}

const sizeOf = (place: HTMLElement) => ({ width: place.clientWidth, height: place.clientHeight })

function draw(place: HTMLElement, { daily, before, metric, onPoint }: PlotOptions): uPlot {
  const { days, currency } = daily
  const known = [...days, ...(before?.days ?? [])].some(({ status }) => status !== 'missing')
  const color = (name: string) => colorOf(name, place)
  const of = (status: string) => days.map((day) => (day.status === status ? day[metric] : null))
  const bars = uPlot.paths.bars?.({ size: [days.length > 120 ? 1 : 0.72, 48], align: 0 })
  const series = (fill: uPlot.Series.Fill): uPlot.Series => ({
    ...(bars && { paths: bars }),
    fill,
    stroke: color('--chart-bar'),
    width: 0,
    points: { show: false },
  })
  const axis: uPlot.Axis = {
    stroke: color('--ink-3'),
    font: AXIS_FONT,
    ticks: { show: false },
    grid: { stroke: color('--line'), width: 1 },
  }
  return new uPlot(
    {
      ...sizeOf(place),
      padding: [12, 20, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: false, y: false },
        points: { show: false },
        move: (plot, left, top) => [snapped(plot, left), top],
      },
      scales: {
        x: { time: false, range: [-0.6, days.length - 0.4] },
        y: { range: (_plot, _min, max) => [0, Math.max(1, (max ?? 0) * 1.05)] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          size: 34,
          incrs: [1, 2, 3, 7, 14, 28, 56, 91],
          space: 64,
          values: (_plot, at) => at.map((index) => (days[index] ? dateShort(days[index].date) : '')),
        },
        {
          ...axis,
          size: 52,
          values: (_plot, at) => (known ? at.map((value) => metricShort(metric, value, currency)) : []),
        },
      ],
      series: [
        {},
        series(color('--chart-bar')),
        series((plot) => hatch(plot.ctx, color('--chart-bar'), color('--chart-pale'))),
        { stroke: color('--chart-before'), width: 2, points: { show: false } },
      ],
      hooks: {
        drawClear: [(plot) => drawMissing(plot, daily, color('--chart-missing'))],
        setCursor: [(plot) => onPoint(plot.cursor.idx ?? undefined)],
      },
    },
    [
      days.map((_, index) => index),
      of('final'),
      of('provisional'),
      days.map((_, index) => before?.days[index]?.[metric] ?? null),
    ],
    place,
  )
}

/** Returns the theme's value of a colour. @param name of a custom property. */
function colorOf(name: string, place: HTMLElement): string {
  place.style.setProperty('color', `var(${name})`)
  place.style.setProperty('forced-color-adjust', 'none')
  const { color } = getComputedStyle(place)
  place.removeAttribute('style')
  return color
}

/** The middle of the bar that a place is nearest to, so that the line is never between two days. */
const snapped = (plot: uPlot, left: number): number =>
  left < 0 ? left : plot.valToPos(plot.posToIdx(left), 'x')

/** Days without a report: a hatched column of full height, which no bar of a low figure can be taken for. */
function drawMissing(plot: uPlot, { days }: DailyAnalytics, color: string): void {
  const { ctx, bbox } = plot
  ctx.save()
  ctx.fillStyle = hatch(ctx, color, 'transparent')
  for (const [index, { status }] of days.entries()) {
    if (status !== 'missing') continue
    const left = plot.valToPos(index - 0.5, 'x', true)
    const right = plot.valToPos(index + 0.5, 'x', true)
    ctx.fillRect(left, bbox.top, right - left, bbox.height)
  }
  ctx.restore()
}

function hatch(ctx: CanvasRenderingContext2D, line: string, ground: string): CanvasPattern {
  const size = HATCH_PX * devicePixelRatio
  const tile = document.createElement('canvas')
  tile.width = size
  tile.height = size
  const pen = tile.getContext('2d') as CanvasRenderingContext2D
  if (ground !== 'transparent') {
    pen.fillStyle = ground
    pen.fillRect(0, 0, size, size)
  }
  pen.strokeStyle = line
  pen.lineWidth = devicePixelRatio * 1.4
  pen.beginPath()
  for (const offset of [-size, 0, size]) {
    pen.moveTo(offset, size)
    pen.lineTo(offset + size, 0)
  }
  pen.stroke()
  return ctx.createPattern(tile, 'repeat') as CanvasPattern
}
