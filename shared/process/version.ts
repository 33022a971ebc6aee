import { readFileSync } from 'node:fs'

const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')

/** The version of the product, as package.json names it. */
export const VERSION: string = JSON.parse(manifest).version
