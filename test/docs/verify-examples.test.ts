import { NODE } from './printed-verifiers.ts'
import { describeVerifiers } from './verifier-attacks.ts'

describeVerifiers(NODE)
