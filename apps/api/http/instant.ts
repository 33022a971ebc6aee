import { z } from 'zod'

/** A time of an answer, in UTC. The document says so once for all. */
export const instant = z.iso.datetime()
