import { Agent, request } from 'node:http'
import { randomUUID } from 'node:crypto'
const [url, token, conns, total] = process.argv.slice(2) as [string, string, string, string]
const agent = new Agent({ keepAlive: true, maxSockets: Number(conns) })
const types = ['impression', 'click', 'order', 'boost_spend']
const mk = () => Buffer.from(JSON.stringify({ events: Array.from({ length: 1000 }, (_, i) => {
  const type = types[i % 4]!
  return { eventId: randomUUID(), type, occurredAt: new Date(Date.now() - Math.floor(Math.random() * 71 * 3600e3)).toISOString(), ...(type === 'boost_spend' ? {} : { quantity: 1 }), ...(i % 4 > 1 ? { amountMinor: 1234, currency: 'EUR' } : {}) }
}) }))
const bodies = Array.from({ length: Number(total) }, mk)
const post = (b: Buffer) => new Promise<void>((ok, no) => {
  const r = request(url, { agent, method: 'POST', headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'content-length': b.length } }, (res) => { let t = ''; res.on('data', (d) => t += d); res.on('end', () => res.statusCode === 200 && JSON.parse(t).accepted === 1000 ? ok() : no(new Error(res.statusCode + t))) })
  r.on('error', no); r.end(b)
})
for (let i = 0; i < 5; i++) await post(mk())
const t = performance.now()
await Promise.all(Array.from({ length: Number(conns) }, async () => { for (let b = bodies.pop(); b; b = bodies.pop()) await post(b) }))
console.log(((performance.now() - t) / Number(total)).toFixed(2))
process.exit(0)
