export interface Part {
  /** Lets it finish what it is doing. */
  stop(): Promise<unknown>
  /** Ends it at once. */
  kill?(): unknown
}

/** What was started, to be stopped in reverse order. */
export class Parts {
  #stages: Part[][] = []
  #stopping: Promise<void> | undefined

  get stopping(): boolean {
    return this.#stopping !== undefined
  }

  /** Parts of one stage end together. */
  add(...stage: Part[]): void {
    this.#stages.push(stage)
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    for (const stage of this.#stages.toReversed()) await Promise.allSettled(stage.map((part) => part.stop()))
  }

  /** Ends all processes at once, without letting them finish. */
  async kill(): Promise<void> {
    await Promise.allSettled(this.#stages.flat().map((part) => part.kill?.()))
  }
}
