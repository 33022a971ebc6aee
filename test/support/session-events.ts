import type { TestApi } from './api.ts'

/** Returns the events `session.ended` in the API's log. */
export const endedSessions = ({
  logLines,
}: TestApi): { userId: string; sessionId: string; why: string; clientAddress?: string }[] =>
  logLines.map((line) => JSON.parse(line)).filter(({ event }) => event === 'session.ended')
