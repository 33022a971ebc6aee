import { senderFor } from './sending.ts'

/*
 * Arguments: a certificate authority and URLs. Sends one test event to each URL in turn, taking every host
 * for 127.0.0.1, and prints the results, with the memory that the process took at most so far, as one line of
 * JSON.
 */
const [, , certificateAuthority = '', ...urls] = process.argv
const sender = senderFor({ certificateAuthority })
const before = process.memoryUsage.rss()
let peak = before
setInterval(() => {
  peak = Math.max(peak, process.memoryUsage.rss())
}, 5).unref()
const results: { result: unknown; grown_bytes: number }[] = []
for (const url of urls) {
  const { result } = await sender.send({ url, vendorId: 'ven_acme', signal: new AbortController().signal })
  results.push({ result, grown_bytes: peak - before })
}
process.stdout.write(JSON.stringify(results))
