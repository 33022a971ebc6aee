/* The gateway of the local stack, alone in a process. */
import { startGateway } from '../../../../infra/local/gateway/gateway.ts'

const { BENCH_AUTH_URL = '', BENCH_API_URL = '', PORT } = process.env
const upstream = (url: string) => ({ host: '127.0.0.1', port: Number(new URL(url).port) })

await startGateway({
  port: Number(PORT),
  auth: upstream(BENCH_AUTH_URL),
  api: upstream(BENCH_API_URL),
  pages: { answer: () => false },
  apiResource: BENCH_API_URL,
})
process.once('disconnect', () => process.exit())
