import { runAdmin } from './program.ts'

// The reader of a pipe may stop reading, as `head` does. What the command does goes on.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })

process.exitCode = await runAdmin(process.argv.slice(2), process)
