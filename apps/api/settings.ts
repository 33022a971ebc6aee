/* Answers about the settings, without starting the service: `npm run admin -- config` runs it. */
import { runSettingsProgram } from '#shared/process/settings-program.ts'
import { apiShape, readApiConfig } from './config.ts'

runSettingsProgram({ env: process.env, question: process.argv[2], shape: apiShape, read: readApiConfig })
