import { type ErrorWords, NO_ANSWER } from '../ui/explain.ts'

/** Why a change of the people failed. */
export const PEOPLE_ERRORS: ErrorWords = {
  title: 'Nothing was changed',
  noAnswer: NO_ANSWER,
  500: 'It may or may not be changed',
  503: 'It may or may not be changed',
  404: { title: 'This person is no longer here', text: 'Close this to see the people as they are now.' },
}
