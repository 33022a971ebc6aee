import { pino } from 'pino'
import type { Log } from '#shared/process/log.ts'

export const silentLog = (): Log => pino({ level: 'silent' })
