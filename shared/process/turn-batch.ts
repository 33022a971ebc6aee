const WAITING_MAX = 10_000

/**
 * Returns a function that asks one question, together with the others of the same turn of the event loop. A batch of at
 * most `size` begins after each of its questions was put, so its answers are as fresh as if each had been asked alone.
 * `ask` gives one answer for each question, in their order; when it rejects, each question of the batch does.
 * At most `atOnce` batches run at once. Meanwhile 10,000 questions may wait; any more reject with code ETIMEDOUT.
 */
export function batchPerTurn<Question, Answer>(
  ask: (questions: Question[]) => Promise<readonly Answer[]>,
  size: number,
  atOnce = Number.POSITIVE_INFINITY,
): (question: Question) => Promise<Answer> {
  type PendingQuestion = { question: Question } & PromiseWithResolvers<Answer>
  let waiting: PendingQuestion[] = []
  let running = 0
  let scheduled = false

  function schedule(): void {
    if (scheduled || waiting.length === 0 || running >= atOnce) return
    scheduled = true
    setImmediate(runOne)
  }

  async function runOne(): Promise<void> {
    scheduled = false
    const batch = waiting.slice(0, size)
    waiting = waiting.slice(size)
    running += 1
    schedule()
    try {
      const answers = await ask(batch.map(({ question }) => question))
      batch.forEach(({ resolve }, i) => {
        resolve(answers[i] as Answer)
      })
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    running -= 1
    schedule()
  }

  return (question) => {
    if (waiting.length >= WAITING_MAX)
      return Promise.reject(Object.assign(new Error('too many wait'), { code: 'ETIMEDOUT' }))
    const pending = { question, ...Promise.withResolvers<Answer>() }
    waiting.push(pending)
    schedule()
    return pending.promise
  }
}
