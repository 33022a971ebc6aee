import { ApiProblem, Offline } from '../api/request.ts'
import { type Failure, OFFLINE } from '../ui/submit.ts'

/** Why a change of the people failed. */
export function explained(error: unknown): Failure {
  if (error instanceof Offline) return OFFLINE
  if (!(error instanceof ApiProblem))
    return { title: 'No answer came', text: 'It may or may not be done. It is safe to try again.' }
  if (error.status === 404)
    return { title: 'This person is no longer here', text: 'Close this to see the people as they are now.' }
  return { title: 'Nothing was changed', text: error.message }
}
