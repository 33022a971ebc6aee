import { NODE } from '../support/printed-verifiers.ts'
import { describeVerifiers } from '../support/verifier-attacks.ts'

describeVerifiers(NODE)
