import { outliveOutput } from '../lost-output.ts'
import { runAdmin } from './program.ts'

outliveOutput()
process.exitCode = await runAdmin(process.argv.slice(2), process)
