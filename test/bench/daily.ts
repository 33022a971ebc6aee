import type { Goal } from './goals.ts'
import { figuresOf, measureInterleaved, type Subject, throughputRatio } from './measure.ts'
import { createReaders, type Readers } from './readers.ts'
import type { Bench, Measurement, Row } from './row.ts'

const KOA_GOAL: Goal = { least: 0.5, moonshot: 0.7 }
const NOT_MODIFIED_GOAL: Goal = { least: 0.5 }
const EXPRESS_GOAL: Goal = { least: 1.5 }

export const dailyRows: Row[] = [
  { name: 'daily read, 30 days', part: 'speed', measure: besideKoa },
  { name: 'daily read, If-None-Match', part: 'speed', measure: notModified },
  { name: 'daily read beside Express', part: 'speed', measure: besideExpress },
]

async function besideKoa(bench: Bench): Promise<Measurement> {
  const world = await bench.world()
  const readers = await createReaders(world)
  return compare(bench, 'bare Koa, the same bytes', KOA_GOAL, [
    { name: 'daily read, 30 days', server: world.api, requests: readers.requests },
    { name: 'bare Koa', server: await startKoa(bench, readers), requests: readers.requests },
  ])
}

async function notModified(bench: Bench): Promise<Measurement> {
  const world = await bench.world()
  const readers = await createReaders(world)
  const requests = readers.conditional
  return compare(bench, 'bare Koa, 304', NOT_MODIFIED_GOAL, [
    { name: 'daily read, If-None-Match', server: world.api, requests, status: 304 },
    { name: 'bare Koa, 304', server: await startKoa(bench, readers), requests, status: 304 },
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

export const startKoa = ({ servers }: Bench, { answersFile }: Readers) =>
  servers.startFloor('koa', { BENCH_ANSWERS: answersFile })

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
