/**
 * True under `npm run test:all`. `npm test` leaves out the files named `*.all.test.ts`, and a test that can
 * repeat itself with another seed, another theme, more window widths or more random inputs does so only when
 * this is true.
 */
export const EVERYTHING = process.env.TEST_ALL !== undefined
