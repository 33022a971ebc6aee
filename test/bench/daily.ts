import type { Goal } from './goals.ts'
import { figuresOf, measureInterleaved, type Subject, throughputRatio } from './measure.ts'
import { createReaders, type Readers } from './readers.ts'
import type { Bench, Measurement, Row } from './row.ts'

const KOA_GOAL: Goal = { least: 0.5, moonshot: 0.7 }
const NOT_MODIFIED_GOAL: Goal = { least: 0.5 }
const EXPRESS_GOAL: Goal = { least: 1.5 }
const SAME_BYTES = 'bare Koa, the same bytes'
const BUSY_US = 20
const MANY = 64
/** What is asked of the stores in one turn of the event loop is asked together: the more at once, the less each. */
const withMany = { suffix: `, ${MANY} connections`, connections: MANY }

export const dailyRows: Row[] = [
  { name: 'daily read, 30 days', part: 'speed', measure: besideKoa },
  { name: `daily read, 30 days${withMany.suffix}`, part: 'speed', measure: besideKoaWithMany },
  { name: 'daily read, If-None-Match', part: 'speed', measure: (bench) => notModified(bench) },
  {
    name: `daily read, If-None-Match${withMany.suffix}`,
    part: 'speed',
    measure: (bench) => notModified(bench, withMany),
  },
  { name: 'daily read beside Express', part: 'speed', measure: besideExpress },
]

/** And beside them Koa that works a little longer, which tells what the goal leaves for all that a read does. */
async function besideKoa(bench: Bench): Promise<Measurement> {
  const world = await bench.world()
  const readers = await createReaders(world)
  const { requests } = readers
  const [ours, busy, koa] = await measureInterleaved(bench, [
    { name: 'daily read, 30 days', server: world.api, requests },
    { name: `bare Koa, busy for ${BUSY_US} µs`, server: await startKoa(bench, readers, BUSY_US), requests },
    { name: 'bare Koa', server: await startKoa(bench, readers), requests },
  ])
  return {
    findings: [
      { what: ours.subject.name, beside: SAME_BYTES, goal: KOA_GOAL, ...throughputRatio(ours, koa) },
      { what: busy.subject.name, beside: SAME_BYTES, ...throughputRatio(busy, koa) },
    ],
    loads: [figuresOf(ours), figuresOf(busy), figuresOf(koa)],
  }
}

async function besideKoaWithMany(bench: Bench): Promise<Measurement> {
  const world = await bench.world()
  const readers = await createReaders(world)
  const { suffix, connections } = withMany
  const load = { requests: readers.requests, connections }
  return compare(bench, SAME_BYTES, KOA_GOAL, [
    { name: `daily read, 30 days${suffix}`, server: world.api, ...load },
    { name: `bare Koa${suffix}`, server: await startKoa(bench, readers), ...load },
  ])
}

async function notModified(
  bench: Bench,
  { suffix, connections }: { suffix: string; connections?: number } = { suffix: '' },
): Promise<Measurement> {
  const world = await bench.world()
  const readers = await createReaders(world)
  const load = { requests: readers.conditional, status: 304, ...(connections && { connections }) }
  return compare(bench, 'bare Koa, 304', NOT_MODIFIED_GOAL, [
    { name: `daily read, If-None-Match${suffix}`, server: world.api, ...load },
    { name: `bare Koa, 304${suffix}`, server: await startKoa(bench, readers), ...load },
  ])
}

async function besideExpress(bench: Bench): Promise<Measurement> {
  const world = await bench.world()
  const { requests, answersFile } = await createReaders(world)
  const express = await bench.servers.startFloor('express', {
    BENCH_ANSWERS: answersFile,
    BENCH_ISSUER: world.issuer,
    BENCH_AUDIENCE: world.issuer,
  })
  return compare(bench, 'Express with express-oauth2-jwt-bearer, no revocation', EXPRESS_GOAL, [
    { name: 'daily read, 30 days', server: world.api, requests },
    { name: 'Express', server: express, requests },
  ])
}

export const startKoa = ({ servers }: Bench, { answersFile }: Readers, busy_us = 0) =>
  servers.startFloor('koa', { BENCH_ANSWERS: answersFile, BENCH_BUSY_US: String(busy_us) })

async function compare(
  bench: Bench,
  beside: string,
  goal: Goal,
  subjects: [ours: Subject, other: Subject],
): Promise<Measurement> {
  const [ours, other] = await measureInterleaved(bench, subjects)
  return {
    findings: [{ what: ours.subject.name, beside, goal, ...throughputRatio(ours, other) }],
    loads: [figuresOf(ours), figuresOf(other)],
  }
}
