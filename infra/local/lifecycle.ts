import { within } from '#shared/process/within.ts'

/** Longer than any process of the stack needs to stop, or to be killed after its own deadline. */
const STOP_DEADLINE_MS = 60_000

export interface Stoppable {
  /** Stops it gracefully. */
  stop(): Promise<unknown>
  /** Kills it at once. */
  kill?(): unknown
}

/** Everything that was started, to be stopped in reverse order. */
export class Lifecycle {
  #stages: Stoppable[][] = []
  #stopping: Promise<void> | undefined

  get stopping(): boolean {
    return this.#stopping !== undefined
  }

  /** Those of one stage are stopped together. */
  add(...stage: Stoppable[]): void {
    this.#stages.push(stage)
  }

  /** A stage that has not stopped within a minute is left as it is. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    for (const stage of this.#stages.toReversed())
      await within(STOP_DEADLINE_MS, Promise.allSettled(stage.map((part) => part.stop())))
  }

  /** Kills all processes at once. */
  async kill(): Promise<void> {
    await Promise.allSettled(this.#stages.flat().map((part) => part.kill?.()))
  }
}
