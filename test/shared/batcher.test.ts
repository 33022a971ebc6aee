import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createBatcher } from '#shared/process/batcher.ts'

describe('asking in batches', () => {
  it('asks what came in one turn together, and gives each its own answer', async () => {
    const asked: number[][] = []
    const double = createBatcher(async (questions: number[]) => {
      asked.push(questions)
      return questions.map((n) => n * 2)
    }, 10)
    assert.deepEqual(await Promise.all([double(1), Promise.resolve(2).then(double), double(3)]), [2, 4, 6])
    assert.equal(await double(4), 8)
    assert.deepEqual(asked, [[1, 3, 2], [4]])
  })

  it('asks at most so many questions together', async () => {
    const sizes: number[] = []
    const ask = createBatcher(async (questions: number[]) => {
      sizes.push(questions.length)
      return questions
    }, 2)
    assert.deepEqual(await Promise.all([1, 2, 3, 4, 5].map(ask)), [1, 2, 3, 4, 5])
    assert.deepEqual(sizes, [2, 2, 1])
  })

  it('begins a batch after its questions were put, and lets what comes meanwhile wait', async () => {
    const begun: (PromiseWithResolvers<void> & { questions: string[] })[] = []
    const answer = async (questions: string[]) => {
      const batch = { questions, ...Promise.withResolvers<void>() }
      begun.push(batch)
      await batch.promise
      return questions
    }
    const ask = createBatcher(answer, 10, { concurrency: 1 })
    const first = ask('a')
    assert.equal(begun.length, 0)
    await nextTurn()
    const later = [ask('b'), ask('c')]
    await nextTurn()
    assert.deepEqual([begun.length, begun[0]?.questions], [1, ['a']])
    begun[0]?.resolve()
    assert.equal(await first, 'a')
    await nextTurn()
    begun[1]?.resolve()
    assert.deepEqual(await Promise.all(later), ['b', 'c'])
  })

  it('rejects what is too much to wait, or waits too long, while every batch is stuck, and goes on', async () => {
    const stuck = Promise.withResolvers<void>()
    const answer = async (questions: string[]) => {
      if (questions.includes('stuck')) await stuck.promise
      return questions
    }
    const ask = createBatcher(answer, 10_000, { concurrency: 1, wait_ms: 1_000 })
    const first = assert.rejects(ask('stuck'), { code: 'ETIMEDOUT' })
    await nextTurn()
    const waiting = Array.from({ length: 10_000 }, () => ask('waiting'))
    await assert.rejects(ask('one more'), { code: 'ETIMEDOUT' })
    await first
    const outcomes = await Promise.allSettled(waiting)
    assert.ok(outcomes.every(({ status }) => status === 'rejected'))
    const next = ask('next')
    stuck.resolve()
    assert.equal(await next, 'next')
  })

  it('rejects each question of a batch that fails, and goes on', async () => {
    const answer = async (questions: string[]) => {
      if (questions.includes('bad')) throw new Error('no')
      return questions
    }
    const ask = createBatcher(answer, 10, { concurrency: 1 })
    const [bad, good] = [ask('bad'), ask('good')]
    await Promise.all([bad, good].map((asked) => assert.rejects(asked, /no/)))
    assert.equal(await ask('good'), 'good')
  })
})
