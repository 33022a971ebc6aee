import type { ErrorWords } from '../ui/explain.ts'

/** Why a change of the people failed. */
export const PEOPLE_ERRORS: ErrorWords = {
  title: 'Nothing was changed',
  uncertain: 'The change may or may not have been made',
  404: { title: 'This person is no longer here', text: 'Close this to see who is here now.' },
}
