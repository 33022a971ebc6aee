/* Prints the settings as JSON, for `npm run admin -- config reference`. */
import { settingsOf } from '#shared/process/setting-reference.ts'
import { authShape } from './config.ts'

process.stdout.write(JSON.stringify(settingsOf(authShape)))
