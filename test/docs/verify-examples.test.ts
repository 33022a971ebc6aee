import { EVERYTHING } from '../support/tier.ts'
import { isInstalled, NODE, PYTHON } from './printed-verifiers.ts'
import { describeVerifiers } from './verifier-attacks.ts'

describeVerifiers(NODE)
if (EVERYTHING && isInstalled(PYTHON)) describeVerifiers(PYTHON)
