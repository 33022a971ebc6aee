import type { ErrorWords } from '../ui/explain.ts'

/** Why a change of the people failed. */
export const PEOPLE_ERRORS: ErrorWords = {
  title: 'Nothing was changed',
  uncertain: 'It may or may not be changed',
  404: { title: 'This person is no longer here', text: 'Close this to see the people as they are now.' },
}
