import { senderFor } from '../api/callbacks/sending.ts'

/*
 * A process that sends one test event to each URL after its first argument, one after another, taking every
 * host for 127.0.0.1 and trusting the authority of its first. It prints the results and how much memory the
 * process had taken at most since it began, as one line of JSON.
 */
const [, , certificateAuthority = '', ...urls] = process.argv
const sender = senderFor({ certificateAuthority })
const before = process.memoryUsage.rss()
let peak = before
setInterval(() => {
  peak = Math.max(peak, process.memoryUsage.rss())
}, 5).unref()
const sent: { result: unknown; grown_bytes: number }[] = []
for (const url of urls) {
  const { result } = await sender.send({ url, vendorId: 'ven_acme', signal: new AbortController().signal })
  sent.push({ result, grown_bytes: peak - before })
}
process.stdout.write(JSON.stringify(sent))
