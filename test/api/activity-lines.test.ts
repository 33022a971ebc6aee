import assert from 'node:assert/strict'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { type LoggedEntry, loggedEntry, recordActivity } from '../../apps/api/accounts/activity.ts'
import { sharedApi } from '../support/api.ts'
import { connectedDatabase } from '../support/stores.ts'

describe('the activity in the log', () => {
  const api = sharedApi()
  let vendorId: string
  before(async () => {
    vendorId = (await api.createCompany()).vendorId
  })

  it('leaves out each member that has free text, at any depth', () => {
    const texts = { name: 'Kim', email: 'Kim', source: 'Kim', file: 'Kim' }
    const detail = { ...texts, role: 'admin', before: { ...texts, status: 'active' } }
    const parts = { entryId: 1, at: '', vendorId, userId: null, operator: null, subject: 's' }
    assert.deepEqual(loggedEntry({ ...parts, action: 'client.secret_found', detail }).detail, {
      role: 'admin',
      before: { status: 'active' },
    })
  })

  describe('a transaction', () => {
    const subjects: unknown[] = []
    let db: Database
    before(() => {
      const activityLog = (entry: object) => subjects.push((entry as LoggedEntry).subject)
      db = connectedDatabase(api.database.apiUrl, { poolSize: 2, activityLog })
    })
    after(() => db.destroy())

    const add = (to: Queryable, subject: string) =>
      recordActivity(to, { vendorId, by: null }, 'client.secret_found', subject)
    const failed = () => {
      throw new Error('rolled back')
    }

    it('has lines once it is committed, and none if it or one around it is rolled back', async () => {
      const rolledBack = db.transaction(async (outer) => {
        await add(outer, 'outer')
        await outer.transaction((inner) => add(inner, 'inner'))
        failed()
      })
      await assert.rejects(rolledBack, /rolled back/)
      await db.transaction(async (outer) => {
        const partly = outer.transaction((inner) => add(inner, 'savepoint').then(failed))
        await assert.rejects(partly, /rolled back/)
        await outer.transaction((inner) => add(inner, 'released savepoint'))
        await add(outer, 'committed')
        assert.deepEqual(subjects, [])
      })
      await add(db, 'alone')
      assert.deepEqual(subjects.toSorted(), ['alone', 'committed', 'released savepoint'])
    })
  })
})
