import { SCOPES } from '#shared/oauth/scopes.ts'
import type { Layout } from './layout.ts'

/**
 * A form that asks for a token with the person's own client, and reads the daily figures with it. The script sends it;
 * the secret and the token stay in the page's memory. Without the script it is not there.
 */
export function tryIt(
  { assets: { home }, hrefOf }: Layout,
  { issuer, apiResource }: { issuer: string; apiResource: string },
): string {
  // The page may send to its own origin only.
  if (new URL(issuer).origin !== new URL(apiResource).origin)
    return '<p>Here the token endpoint has an origin of its own, to which this page cannot send. Use the first example.</p>'
  const scopes = SCOPES.map(
    (scope) =>
      `<label><input type="checkbox" name="scope" value="${scope}"${scope === 'analytics:read' ? ' checked' : ''}> <code>${scope}</code></label>`,
  )
  return `<noscript><p>This part needs JavaScript. The first example above does the same.</p></noscript>
<form class="try" method="post" autocomplete="off" data-token-url="${issuer}/v1/oauth/token" data-home="${home}" data-errors="${hrefOf('errors')}" hidden>
<label>Client id<input name="client_id" required spellcheck="false" autocapitalize="off" placeholder="cli_…"></label>
<label>Client secret<input name="client_secret" class="secret" required spellcheck="false" autocapitalize="off" placeholder="ias_…"></label>
<fieldset><legend>Scopes</legend>${scopes.join('')}</fieldset>
<p class="actions"><button class="button">Ask for a token</button><button type="button" class="button" name="read" hidden>Read the last 30 days</button></p>
<div role="status"></div>
</form>`
}
