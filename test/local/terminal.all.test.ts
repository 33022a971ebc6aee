import assert from 'node:assert/strict'
import { readFile, stat } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { curlPair, shellWithCurl } from '../support/curl.ts'
import { eventually } from '../support/eventually.ts'
import { sharedFolder } from '../support/folder.ts'
import { type Start, startStackProcess } from '../support/start.ts'

const CTRL_C = '\x03'

describe('npm start in a terminal', () => {
  // The first start is stopped while it makes it; each of the others begins with what the one before left.
  const dataDir = join(sharedFolder(), 'made/by it')
  let start: Start

  beforeEach(async () => {
    // script(1) gives a command a terminal of its own; what is typed goes to its standard input.
    // A shell that stays around npm would add its own opinion of a Ctrl-C to the exit code (dash: 130).
    start = await startStackProcess({
      dataDir,
      command: ['script', '-qec', 'exec npm start --silent', '/dev/null'],
    })
  })
  afterEach(async () => assert.deepEqual(await start.running(), []))

  const type = (text: string) => start.process.stdin?.write(text)

  it('stops at Ctrl-C while it is still making its data', async () => {
    await eventually(() => /Data: in/.test(start.stdout()))
    type(CTRL_C)
    await start.ended()
    assert.doesNotMatch(start.stdout(), /^ready/m)
    assert.doesNotMatch(start.stdout(), /could not/)
    assert.equal((await stat(join(dataDir, 'secrets.json'))).mode & 0o077, 0)
  })

  it('shows commands there that work and hold no secret, and ends cleanly at one Ctrl-C', async () => {
    await start.ready()
    const env = await readFile(join(dataDir, 'demo-client.env'), 'utf8')
    assert.ok(!start.stdout().includes(/(?<=SECRET=)ias_.+/.exec(env)?.[0] ?? ''))
    const pair = curlPair(start.stdout())
    assert.equal(JSON.parse(await shellWithCurl(pair)).vendorId, 'ven_acme')
    type(CTRL_C)
    assert.equal(await start.ended(), 0)
    assert.match(start.stdout(), /Stopping\r\n.*Stopped/)
    assert.doesNotMatch(start.stdout(), /at once/)
  })

  it('ends cleanly at one Ctrl-C that npm passes on late', async () => {
    await start.ready()
    const main = (await start.running()).find(({ command }) => /node infra\/local\/main\.ts/.test(command))
    assert.ok(main)
    const request = await hangingRequest(start)
    process.kill(main.pid, 'SIGINT')
    await sleep(1_000)
    process.kill(main.pid, 'SIGINT')
    await sleep(200)
    request.destroy()
    assert.equal(await start.ended(), 0)
    assert.doesNotMatch(start.stdout(), /at once/)
  })

  it('stops at once at a second Ctrl-C, though a request hangs', async () => {
    await start.ready()
    const request = await hangingRequest(start)
    type(CTRL_C)
    // A busy machine may deliver the terminal's and npm's signals at once, as one. Then a third follows.
    for (let more = 0; more < 2 && !/at once/.test(start.stdout()); more++) {
      await sleep(1_000)
      type(CTRL_C)
      await sleep(500)
    }
    // An ordinary stop, which waits for the request, ends with 0.
    assert.equal(await start.ended(), 130)
    assert.match(start.stdout(), /Force-stopping\./)
    request.destroy()
  })
})

/** A request whose body never ends. @returns its connection. */
async function hangingRequest(start: Start): Promise<Socket> {
  const connection = connect(Number(new URL(start.baseUrl).port), '127.0.0.1')
  connection.on('error', () => {})
  connection.write(
    'POST /v1/session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
  )
  await sleep(300)
  return connection
}
