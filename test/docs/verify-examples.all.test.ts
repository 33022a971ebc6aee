import { GO, isInstalled, JAVA, PYTHON } from '../support/printed-verifiers.ts'
import { describeVerifiers } from '../support/verifier-attacks.ts'

const languages = [PYTHON, GO, JAVA]
const unrun = languages.filter((language) => !isInstalled(language)).map(({ name }) => name)

describe(`documentation: how to verify a token; not run here: ${unrun.join(', ') || 'none'}`, () => {
  for (const language of languages) if (isInstalled(language)) describeVerifiers(language)
})
