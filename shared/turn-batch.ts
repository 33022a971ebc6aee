/**
 * Gathers the questions of one turn of the event loop and asks them together. A batch begins after each of its
 * questions was put, so its answers are no older than an answer to a question that had been asked alone.
 * @param ask gives one answer for each question, in their order; when it rejects, each question of the batch does.
 * @param size the most questions of a batch.
 * @param atOnce the most batches that run at the same time; what comes meanwhile waits and forms the next.
 */
export function batchPerTurn<Question, Answer>(
  ask: (questions: Question[]) => Promise<readonly Answer[]>,
  { size, atOnce = Number.POSITIVE_INFINITY }: { size: number; atOnce?: number },
): (question: Question) => Promise<Answer> {
  let waiting: (PromiseWithResolvers<Answer> & { question: Question })[] = []
  let running = 0
  let scheduled = false

  function schedule(): void {
    if (scheduled || running >= atOnce || waiting.length === 0) return
    scheduled = true
    setImmediate(() => {
      scheduled = false
      void runOne()
    })
  }

  async function runOne(): Promise<void> {
    const batch = waiting.slice(0, size)
    waiting = waiting.slice(size)
    running += 1
    schedule()
    try {
      const answers = await ask(batch.map(({ question }) => question))
      for (const [i, { resolve }] of batch.entries()) resolve(answers[i] as Answer)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    running -= 1
    schedule()
  }

  return (question) => {
    const put = { question, ...Promise.withResolvers<Answer>() }
    waiting.push(put)
    schedule()
    return put.promise
  }
}
