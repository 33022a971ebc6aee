import type { OperatorActor } from '../../apps/api/accounts/activity.ts'

/** Someone at the command line, to arrange what no person of a company did. */
export const testOperator = (): OperatorActor => ({ name: 'Otto' })
