import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { shellWithCurl } from '../support/curl.ts'
import { removeFolder, type Start, startProcess, temporaryFolder } from '../support/start.ts'

/** The two commands of the card. */
const commandsOf = (stdout: string): string =>
  stdout
    .split('\n')
    .filter((line) => /^ {2}(?:TOKEN=|curl )/.test(line))
    .join('\n')

describe('npm start', function () {
  this.timeout(90_000)
  let dataDir: string
  beforeEach(async () => {
    dataDir = await temporaryFolder()
  })
  afterEach(() => removeFolder(dataDir))

  async function printed(start: Start, text: string): Promise<void> {
    while (!start.stdout().includes(text)) {
      assert.equal(start.process.exitCode, null, start.stderr())
      await Promise.race([once(start.process.stdout as NodeJS.EventEmitter, 'data'), sleep(1_000)])
    }
  }

  it('ends at once, and names the part, when one dies while the next is starting', async () => {
    const start = await startProcess({ dataDir })
    await printed(start, 'Authorization server: on')
    const auth = (await start.running()).find(({ command }) => command.includes('apps/auth/main.ts'))
    assert.ok(auth)
    const killedAt = performance.now()
    process.kill(auth.pid, 'SIGKILL')
    assert.equal(await start.ended(), 1)
    assert.ok(performance.now() - killedAt < 20_000, 'it waited for the deadline of the next part')
    assert.match(start.stderr(), /^\s*The authorization server ended unexpectedly: SIGKILL; out of memory\?/m)
    assert.deepEqual(await start.running(), [])
  })

  describe('when it is up', () => {
    let start: Start
    beforeEach(async () => {
      start = await startProcess({ dataDir })
      await start.ready()
    })
    afterEach(() => start.stop())

    it('shows the error of a token request, and does not go on without a token', async () => {
      const commands = commandsOf(start.stdout()).replace(/client_id=cli_\w+/, 'client_id=cli_nobody')
      const failure = await shellWithCurl(commands, tmpdir()).then(
        () => assert.fail('it went on'),
        (error: { stderr: string }) => error.stderr,
      )
      assert.match(failure, /"error":"invalid_client"/)
      assert.match(failure, /TOKEN: was not issued/)
    })

    it('keeps the audit trail in a file that the card names, though the services print only warnings', async () => {
      await shellWithCurl(commandsOf(start.stdout()), tmpdir())
      const file = /Audit trail +(.+)/.exec(start.stdout())?.[1] ?? ''
      assert.equal((await stat(file)).mode & 0o777, 0o600)
      await waitForIssued(file)
      assert.doesNotMatch(start.stderr(), /token\.issued/)
    })

    async function waitForIssued(file: string): Promise<void> {
      for (let tries = 0; tries < 50; tries += 1) {
        const lines = (await readFile(file, 'utf8')).trim().split('\n')
        const events = lines.map((line) => JSON.parse(line))
        const issued = events.find(({ event }) => event === 'token.issued')
        if (issued) {
          assert.match(issued.clientId, /^cli_/)
          assert.equal(issued.service, 'auth')
          assert.equal(typeof issued.pid, 'number')
          return
        }
        await sleep(100)
      }
      assert.fail('no token.issued in the audit trail')
    }

    it("names each person's role and the operator's command on the card", () => {
      for (const line of [
        /owner@acme\.example +owner of Acme Outfitters/,
        /suspended@acme\.example +suspended admin of Acme Outfitters/,
        /member@acme\.example +member of Acme Outfitters/,
        /npm run admin -- --help/,
        /Authorization server +http:\/\/127\.0\.0\.1:\d+\n/,
      ])
        assert.match(start.stdout(), line)
    })
  })
})
