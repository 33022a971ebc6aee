import type { Scope } from '#shared/oauth/scopes.ts'
import { ASSERTION_TYPE, inGo, inJava, inNode, inPhp, inPython, inShell } from './assertions.ts'
import type { KeyAlgorithm } from './key-pair.ts'

export interface Access {
  baseUrl: string
  vendorId: string
  clientId: string
  /** A placeholder when the secret is no longer known; the name of the private key's file. */
  credential: { secret: string } | { keyFile: string; algorithm: KeyAlgorithm }
  scopes: readonly Scope[]
}

const tokenUrl = ({ baseUrl }: Access) => `${baseUrl}/v1/oauth/token`
const analyticsUrl = ({ baseUrl, vendorId }: Access) => `${baseUrl}/v1/analytics/${vendorId}`

const callsApi = ({ scopes }: Access): boolean => scopes.some((scope) => scope.startsWith('analytics:'))

interface Calls {
  /** What comes before the calls. */
  shared?: string
  report: string
  read: string
  /** For a client whose scopes no route needs. */
  none: string
}

/** What the client may do here, one call after the other. */
function calls(access: Access, { shared = '', report, read, none }: Calls): string {
  if (!callsApi(access)) return none
  const { scopes } = access
  const made = [scopes.includes('analytics:write') && report, scopes.includes('analytics:read') && read]
  return shared + made.filter(Boolean).join('\n')
}

/** What an access by a key adds to a program; nothing for a secret. */
function signing(
  { credential }: Access,
  code: (algorithm: KeyAlgorithm) => { imports: string; code: string },
): { imports: string; code: string; signs: boolean } {
  if ('secret' in credential) return { imports: '', code: '', signs: false }
  return { ...code(credential.algorithm), signs: true }
}

export const envFile = (access: Access): string =>
  `INTEGRATION_BASE_URL=${access.baseUrl}
INTEGRATION_VENDOR_ID=${access.vendorId}
INTEGRATION_CLIENT_ID=${access.clientId}
${'secret' in access.credential ? `INTEGRATION_CLIENT_SECRET=${access.credential.secret}` : `INTEGRATION_PRIVATE_KEY_FILE=${access.credential.keyFile}`}
INTEGRATION_SCOPE="${access.scopes.join(' ')}"
`

const curlToken = (access: Access): string =>
  `curl -sS ${tokenUrl(access)} \\
  -d grant_type=client_credentials \\
  -d client_id=${access.clientId} \\
  ${
    'secret' in access.credential
      ? `-d client_secret=${access.credential.secret}`
      : `-d client_assertion_type=${ASSERTION_TYPE} \\\n  -d client_assertion=$SIGNED.$SIGNATURE`
  } \\
  -d 'scope=${access.scopes.join(' ')}'`

/** Works as pasted, all of it at once: the token goes into the next commands, and is not shown. */
export const curl = (access: Access): string =>
  ('secret' in access.credential ? '' : `${inShell(access.credential, access)}\n`) +
  `# Get a token, valid for 15 minutes
${calls(access, {
  shared: `TOKEN=$(${curlToken(access)} |
  sed -nE -e 's/.*"access_token":"([^"]+)".*/\\1/p' -e t -e 'w /dev/stderr')

`,
  report: `# Report one impression, which today’s figures then include
NOW=$(date -u +%Y-%m-%dT%H:%M:%SZ)
curl -sS -w '\\n' ${analyticsUrl(access)}/events \\
  -H "Authorization: Bearer \${TOKEN:?was not issued}" \\
  -H 'Content-Type: application/json' \\
  -d '{"events":[{"type":"impression","eventId":"${access.clientId}:'$NOW'","occurredAt":"'$NOW'"}]}'
`,
  read: `# Read the last 30 days
curl -sS ${analyticsUrl(access)}/daily \\
  -H "Authorization: Bearer \${TOKEN:?was not issued}"
`,
  none: `${curlToken(access)}
`,
})}`

/** Every program takes the .env file as its environment, and asks for a new token a minute before the old one ends. */
export function node(access: Access): string {
  const { imports, code, signs } = signing(access, inNode)
  return `// node --env-file=.env analytics.mjs
${imports}const env = process.env
let token, renewAt = 0

${code}async function accessToken() {
  if (Date.now() < renewAt) return token
  const response = await fetch(\`\${env.INTEGRATION_BASE_URL}/v1/oauth/token\`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: env.INTEGRATION_CLIENT_ID,
      ${signs ? `client_assertion_type: '${ASSERTION_TYPE}',\n      client_assertion: assertion()` : 'client_secret: env.INTEGRATION_CLIENT_SECRET'},
      scope: env.INTEGRATION_SCOPE,
    }),
  })
  const answer = await response.json()
  if (!response.ok) throw new Error(answer.error)
  renewAt = Date.now() + (answer.expires_in - 60) * 1000
  return (token = answer.access_token)
}
${calls(access, {
  shared: `
async function call(path, body) {
  const url = \`\${env.INTEGRATION_BASE_URL}/v1/analytics/\${env.INTEGRATION_VENDOR_ID}/\${path}\`
  const response = await fetch(url, {
    method: body ? 'POST' : 'GET',
    headers: {
      Authorization: \`Bearer \${await accessToken()}\`,
      'Content-Type': 'application/json',
    },
    body: body && JSON.stringify(body),
  })
  return response.json()
}

`,
  report: `// Report one impression, which today’s figures then include
const now = new Date().toISOString()
const events = [{ type: 'impression', eventId: \`\${env.INTEGRATION_CLIENT_ID}:\${now}\`, occurredAt: now }]
console.log(await call('events', { events }))
`,
  read: `// Read the last 30 days
const { totals, code } = await call('daily')
console.log(totals ?? code)
`,
  none: `
console.log('Token received (' + (await accessToken()).length + ' characters)')
`,
})}`
}

/** Standard library only, but for what signs. */
export function python(access: Access): string {
  const { imports, code, signs } = signing(access, inPython)
  return `# set -a; . ./.env; set +a; python3 analytics.py
import json, os, time
${imports}from urllib.parse import urlencode
from urllib.request import Request, urlopen

env, token, renew_at = os.environ, None, 0

${code}def access_token():
    global token, renew_at
    if time.time() < renew_at:
        return token
    form = urlencode({
        "grant_type": "client_credentials",
        "client_id": env["INTEGRATION_CLIENT_ID"],
        ${signs ? `"client_assertion_type": "${ASSERTION_TYPE}",\n        "client_assertion": assertion()` : '"client_secret": env["INTEGRATION_CLIENT_SECRET"]'},
        "scope": env["INTEGRATION_SCOPE"],
    }).encode()
    with urlopen(env["INTEGRATION_BASE_URL"] + "/v1/oauth/token", form) as response:
        answer = json.load(response)
    token, renew_at = answer["access_token"], time.time() + answer["expires_in"] - 60
    return token
${calls(access, {
  shared: `
def call(path, body=None):
    url = f'{env["INTEGRATION_BASE_URL"]}/v1/analytics/{env["INTEGRATION_VENDOR_ID"]}/{path}'
    request = Request(url, body and json.dumps(body).encode())
    request.add_header("Authorization", "Bearer " + access_token())
    request.add_header("Content-Type", "application/json")
    with urlopen(request) as response:
        return json.load(response)

`,
  report: `# Report one impression, which today’s figures then include
now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
event = {"type": "impression", "eventId": env["INTEGRATION_CLIENT_ID"] + ":" + now, "occurredAt": now}
print(call("events", {"events": [event]}))
`,
  read: `# Read the last 30 days
print(call("daily")["totals"])
`,
  none: `
print(f"Token received ({len(access_token())} characters)")
`,
})}`
}

/** Standard library only. */
export function go(access: Access): string {
  const { imports, code, signs } = signing(access, () => inGo)
  return `// set -a; . ./.env; set +a; go run analytics.go
package main

import (
${imports || '\t"encoding/json"\n'}	"fmt"${callsApi(access) ? '\n\t"io"' : ''}
	"net/http"
	"net/url"
	"os"${callsApi(access) ? '\n\t"strings"' : ''}
	"time"
)

var token string
var renewAt time.Time

${code}func accessToken() (string, error) {
	if time.Now().Before(renewAt) {
		return token, nil
	}
${signs ? '\tsigned, err := assertion()\n\tif err != nil {\n\t\treturn "", err\n\t}\n' : ''}	response, err := http.PostForm(os.Getenv("INTEGRATION_BASE_URL")+"/v1/oauth/token", url.Values{
		"grant_type":    {"client_credentials"},
		"client_id":     {os.Getenv("INTEGRATION_CLIENT_ID")},
		${signs ? `"client_assertion_type": {"${ASSERTION_TYPE}"},\n\t\t"client_assertion": {signed}` : '"client_secret": {os.Getenv("INTEGRATION_CLIENT_SECRET")}'},
		"scope":         {os.Getenv("INTEGRATION_SCOPE")},
	})
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var answer struct {
		AccessToken string \`json:"access_token"\`
		ExpiresIn   int    \`json:"expires_in"\`
		Error       string
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return "", err
	}
	if answer.Error != "" {
		return "", fmt.Errorf("no token: %s", answer.Error)
	}
	token, renewAt = answer.AccessToken, time.Now().Add(time.Duration(answer.ExpiresIn-60)*time.Second)
	return token, nil
}

func main() {
	token, err := accessToken()
	if err != nil {
		panic(err)
	}
${calls(access, {
  shared: `	call := func(method, path, body string) {
		url := os.Getenv("INTEGRATION_BASE_URL") + "/v1/analytics/" + os.Getenv("INTEGRATION_VENDOR_ID") + path
		request, _ := http.NewRequest(method, url, strings.NewReader(body))
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			panic(err)
		}
		defer response.Body.Close()
		io.Copy(os.Stdout, response.Body)
		fmt.Println()
	}

`,
  report: `	// Report one impression, which today’s figures then include
	now := time.Now().UTC().Format(time.RFC3339)
	event := \`{"type":"impression","eventId":"\` + os.Getenv("INTEGRATION_CLIENT_ID") + ":" + now + \`","occurredAt":"\` + now + \`"}\`
	call("POST", "/events", \`{"events":[\`+event+\`]}\`)
`,
  read: `	// Read the last 30 days
	call("GET", "/daily", "")
`,
  none: `	fmt.Printf("Token received (%d characters)\\n", len(token))
`,
})}}
`
}

/** Java 17 or later, no library: it takes the token out of the JSON by hand, which is plain ASCII. */
export function java(access: Access): string {
  const { imports, code, signs } = signing(access, inJava)
  return `// set -a; . ./.env; set +a; java Analytics.java
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.*;
import java.nio.charset.StandardCharsets;
${imports}import java.time.Instant;
import java.util.Map;
import java.util.regex.*;
import java.util.stream.Collectors;

class Analytics {
    static final HttpClient http = HttpClient.newHttpClient();
    static String token;
    static Instant renewAt = Instant.EPOCH;

${code}    static String accessToken() throws Exception {
        if (Instant.now().isBefore(renewAt)) return token;
        var env = System.getenv();
        var form = Map.of(
            "grant_type", "client_credentials",
            "client_id", env.get("INTEGRATION_CLIENT_ID"),
            ${signs ? `"client_assertion_type", "${ASSERTION_TYPE}",\n            "client_assertion", assertion()` : '"client_secret", env.get("INTEGRATION_CLIENT_SECRET")'},
            "scope", env.get("INTEGRATION_SCOPE"))
            .entrySet().stream()
            .map(field -> field.getKey() + "=" + URLEncoder.encode(field.getValue(), StandardCharsets.UTF_8))
            .collect(Collectors.joining("&"));
        var answer = http.send(
            HttpRequest.newBuilder(URI.create(env.get("INTEGRATION_BASE_URL") + "/v1/oauth/token"))
                .header("Content-Type", "application/x-www-form-urlencoded")
                .POST(HttpRequest.BodyPublishers.ofString(form)).build(),
            HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() != 200) throw new Exception("no token: " + answer.body());
        token = part(answer.body(), "\\"access_token\\":\\"([^\\"]+)\\"");
        renewAt = Instant.now().plusSeconds(Long.parseLong(part(answer.body(), "\\"expires_in\\":(\\\\d+)")) - 60);
        return token;
    }

    static String part(String json, String pattern) {
        Matcher found = Pattern.compile(pattern).matcher(json);
        if (!found.find()) throw new IllegalStateException("not in the answer: " + pattern);
        return found.group(1);
    }

${
  callsApi(access)
    ? `    static String call(String method, String path, String body) throws Exception {
        var env = System.getenv();
        var url = env.get("INTEGRATION_BASE_URL") + "/v1/analytics/" + env.get("INTEGRATION_VENDOR_ID") + path;
        var request = HttpRequest.newBuilder(URI.create(url))
            .header("Authorization", "Bearer " + accessToken())
            .header("Content-Type", "application/json")
            .method(method, HttpRequest.BodyPublishers.ofString(body)).build();
        return http.send(request, HttpResponse.BodyHandlers.ofString()).body();
    }

`
    : ''
}    public static void main(String[] args) throws Exception {
${calls(access, {
  report: `        // Report one impression, which today’s figures then include
        var now = Instant.now();
        var event = "{\\"type\\":\\"impression\\",\\"eventId\\":\\"%1$s:%2$s\\",\\"occurredAt\\":\\"%2$s\\"}"
            .formatted(System.getenv("INTEGRATION_CLIENT_ID"), now);
        System.out.println(call("POST", "/events", "{\\"events\\":[" + event + "]}"));
`,
  read: `        // Read the last 30 days
        System.out.println(call("GET", "/daily", ""));
`,
  none: `        System.out.println("Token received (" + accessToken().length() + " characters)");
`,
})}    }
}
`
}

/** PHP 8 with its curl extension. */
export function php(access: Access): string {
  const { code, signs } = signing(access, () => inPhp)
  return `<?php // set -a; . ./.env; set +a; php analytics.php
function send(string $url, array $options): array {
    $curl = curl_init($url);
    curl_setopt_array($curl, $options + [CURLOPT_RETURNTRANSFER => true]);
    $body = curl_exec($curl);
    if ($body === false) throw new RuntimeException(curl_error($curl));
    return json_decode($body, true, flags: JSON_THROW_ON_ERROR);
}

${code}function accessToken(): string {
    static $token, $renewAt = 0;
    if (time() < $renewAt) return $token;
    $answer = send(getenv('INTEGRATION_BASE_URL') . '/v1/oauth/token', [CURLOPT_POSTFIELDS => http_build_query([
        'grant_type' => 'client_credentials',
        'client_id' => getenv('INTEGRATION_CLIENT_ID'),
        ${signs ? `'client_assertion_type' => '${ASSERTION_TYPE}',\n        'client_assertion' => assertion()` : "'client_secret' => getenv('INTEGRATION_CLIENT_SECRET')"},
        'scope' => getenv('INTEGRATION_SCOPE'),
    ])]);
    if (isset($answer['error'])) throw new RuntimeException("no token: {$answer['error']}");
    $renewAt = time() + $answer['expires_in'] - 60;
    return $token = $answer['access_token'];
}

${calls(access, {
  shared: `function call(string $path, ?array $body = null): array {
    $url = getenv('INTEGRATION_BASE_URL') . '/v1/analytics/' . getenv('INTEGRATION_VENDOR_ID') . $path;
    return send($url, [
        CURLOPT_HTTPHEADER => ['Authorization: Bearer ' . accessToken(), 'Content-Type: application/json'],
    ] + ($body === null ? [] : [CURLOPT_POSTFIELDS => json_encode($body)]));
}

`,
  report: `// Report one impression, which today’s figures then include
$now = gmdate('Y-m-d\\TH:i:s\\Z');
$event = ['type' => 'impression', 'eventId' => getenv('INTEGRATION_CLIENT_ID') . ":$now", 'occurredAt' => $now];
print_r(call('/events', ['events' => [$event]]));
`,
  read: `// Read the last 30 days
print_r(call('/daily')['totals']);
`,
  none: `echo 'Token received (', strlen(accessToken()), " characters)\\n";
`,
})}`
}
