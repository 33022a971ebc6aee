import { isInstalled, PYTHON } from './printed-verifiers.ts'
import { describeVerifiers } from './verifier-attacks.ts'

const unrun = isInstalled(PYTHON) ? 'none' : 'Python'

describe(`documentation: how to verify a token; not run here: ${unrun}`, () => {
  if (isInstalled(PYTHON)) describeVerifiers(PYTHON)
})
