import assert from 'node:assert/strict'
import { browserName } from '../../apps/workspace/src/session/user-agent.ts'

describe('the name of a browser', () => {
  const cases = {
    'Edge on Windows':
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36 Edg/131.0.0.0',
    'Chrome on Android':
      'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36',
    'Safari on macOS':
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15',
    'Chrome on iPhone':
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/131.0.6778.73 Mobile/15E148 Safari/604.1',
    'curl/8.5.0': 'curl/8.5.0',
  }
  for (const [name, userAgent] of Object.entries(cases)) {
    it(`names ${name}`, () => assert.equal(browserName(userAgent), name))
  }
})
