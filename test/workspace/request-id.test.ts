import { strict as assert } from 'node:assert'
import { requestIdIn } from '../../apps/workspace/src/api/request-id.ts'

const ID = '01JD9Z-3f_8.a'

describe('workspace: the request id in what is pasted', () => {
  for (const pasted of [
    ID,
    `\t${ID} `,
    `X-Request-Id: ${ID}`,
    `{"code":"invalid_token","requestId":"${ID}"}`,
    `failed (request_id=${ID}) after 3 s`,
  ]) {
    it(`finds it in ${JSON.stringify(pasted)}`, () => assert.equal(requestIdIn(pasted), ID))
  }

  it('finds none in a text that names none, or in an id that is too long', () => {
    for (const pasted of ['', '  ', 'it failed again', 'a'.repeat(65)])
      assert.equal(requestIdIn(pasted), undefined, pasted)
  })
})
