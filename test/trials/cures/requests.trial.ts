import { describeCures } from './cures.ts'
import { REQUEST_CURES } from './request-cures.ts'

describeCures('the cures of what requests suffer', REQUEST_CURES)
