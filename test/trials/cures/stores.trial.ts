import { describeCures } from './cures.ts'
import { STORE_CURES } from './store-cures.ts'

describeCures('the cures of stores, clocks and keys', STORE_CURES)
