import type { KeyAlgorithm } from './key-pair.ts'

/*
 * What a program adds to sign its token requests (RFC 7523 §2.2) in place of sending a secret: an assertion that names
 * the client, holds for a minute and is used once. `imports` and `code` come before the function that asks for a token.
 */
interface SigningCode {
  imports: string
  code: string
}

export const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** ECDSA signatures in a JWT are two numbers of 32 bytes (RFC 7518 §3.4), where OpenSSL writes them as DER. */
const SHELL_SIGNS: Record<KeyAlgorithm, (keyFile: string) => string> = {
  ES256: (keyFile) =>
    `printf %s "$SIGNED" | openssl dgst -sha256 -sign ${keyFile} |
  perl -0777ne 'print map substr("\\0" x 32 . $_, -32), unpack "x3 C/a x C/a"'`,
  RS256: (keyFile) => `printf %s "$SIGNED" | openssl dgst -sha256 -sign ${keyFile}`,
  EdDSA: (keyFile) =>
    `printf %s "$SIGNED" > signed.txt && openssl pkeyutl -sign -rawin -in signed.txt -inkey ${keyFile}`,
}

/** Sets SIGNED and SIGNATURE. */
export const inShell = (
  { keyFile, algorithm }: { keyFile: string; algorithm: KeyAlgorithm },
  { clientId, baseUrl }: { clientId: string; baseUrl: string },
): string =>
  `# Sign an assertion with the private key. It holds for a minute and is used once
base64url() { openssl base64 -A | tr +/ -_ | tr -d =; }
NOW=$(date +%s)
SIGNED=$(printf '{"alg":"${algorithm}"}' | base64url).$(
  printf '{"iss":"%s","sub":"%s","aud":"%s","iat":%d,"exp":%d,"jti":"%s"}' \\
    ${clientId} ${clientId} ${baseUrl} $NOW $((NOW + 60)) $(openssl rand -hex 16) | base64url)
SIGNATURE=$(${SHELL_SIGNS[algorithm](keyFile)} | base64url)
`

export const inNode = (algorithm: KeyAlgorithm): SigningCode => ({
  imports: `import { createPrivateKey, randomUUID, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'

`,
  code: `const key = createPrivateKey(readFileSync(env.INTEGRATION_PRIVATE_KEY_FILE))

// Holds for a minute and is used once
function assertion() {
  const id = env.INTEGRATION_CLIENT_ID
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: id, sub: id, aud: env.INTEGRATION_BASE_URL, iat: now, exp: now + 60, jti: randomUUID() }
  const signed = [{ alg: '${algorithm}' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  const signature = sign(${algorithm === 'EdDSA' ? 'null' : "'sha256'"}, Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
  return \`\${signed}.\${signature.toString('base64url')}\`
}

`,
})

export const inPython = (algorithm: KeyAlgorithm): SigningCode => ({
  imports: `import uuid
import jwt  # pip install "PyJWT[crypto]"
`,
  code: `with open(env["INTEGRATION_PRIVATE_KEY_FILE"]) as file:
    key = file.read()

def assertion():
    """Holds for a minute and is used once."""
    id, now = env["INTEGRATION_CLIENT_ID"], int(time.time())
    claims = {"iss": id, "sub": id, "aud": env["INTEGRATION_BASE_URL"], "iat": now, "exp": now + 60}
    return jwt.encode(claims | {"jti": str(uuid.uuid4())}, key, algorithm="${algorithm}")

`,
})

/** For P-256 alone: the standard library has a function of its own for each kind of key. */
export const inGo: SigningCode = {
  imports: `	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
`,
  code: `// assertion holds for a minute and is used once.
func assertion() (string, error) {
	file, err := os.ReadFile(os.Getenv("INTEGRATION_PRIVATE_KEY_FILE"))
	if err != nil {
		return "", err
	}
	block, _ := pem.Decode(file)
	if block == nil {
		return "", errors.New("the private key is not a PEM file")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return "", err
	}
	id, now := os.Getenv("INTEGRATION_CLIENT_ID"), time.Now().Unix()
	claims, err := json.Marshal(map[string]any{
		"iss": id, "sub": id, "aud": os.Getenv("INTEGRATION_BASE_URL"), "iat": now, "exp": now + 60, "jti": rand.Text(),
	})
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(\`{"alg":"ES256"}\`)) + "." + encode(claims)
	digest := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, key.(*ecdsa.PrivateKey), digest[:])
	if err != nil {
		return "", err
	}
	return signed + "." + encode(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)), nil
}

`,
}

const JAVA_NAMES: Record<KeyAlgorithm, [key: string, signature: string]> = {
  ES256: ['EC', 'SHA256withECDSAinP1363Format'],
  RS256: ['RSA', 'SHA256withRSA'],
  EdDSA: ['Ed25519', 'Ed25519'],
}

export const inJava = (algorithm: KeyAlgorithm): SigningCode => ({
  imports: `import java.nio.file.*;
import java.security.*;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.UUID;
`,
  code: `    // Holds for a minute and is used once
    static String assertion() throws Exception {
        var env = System.getenv();
        var pem = Files.readString(Path.of(env.get("INTEGRATION_PRIVATE_KEY_FILE"))).replaceAll("-----.*-----", "");
        var key = KeyFactory.getInstance("${JAVA_NAMES[algorithm][0]}")
            .generatePrivate(new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(pem)));
        var now = Instant.now().getEpochSecond();
        var claims = "{\\"iss\\":\\"%1$s\\",\\"sub\\":\\"%1$s\\",\\"aud\\":\\"%2$s\\",\\"iat\\":%3$d,\\"exp\\":%4$d,\\"jti\\":\\"%5$s\\"}".formatted(
            env.get("INTEGRATION_CLIENT_ID"), env.get("INTEGRATION_BASE_URL"), now, now + 60, UUID.randomUUID());
        var base64url = Base64.getUrlEncoder().withoutPadding();
        var signed = base64url.encodeToString("{\\"alg\\":\\"${algorithm}\\"}".getBytes()) + "." + base64url.encodeToString(claims.getBytes());
        var signature = Signature.getInstance("${JAVA_NAMES[algorithm][1]}");
        signature.initSign(key);
        signature.update(signed.getBytes());
        return signed + "." + base64url.encodeToString(signature.sign());
    }

`,
})

/** For P-256 alone: OpenSSL's signature is taken apart, since a JWT has its two numbers as 32 bytes each. */
export const inPhp: SigningCode = {
  imports: '',
  code: `/** Holds for a minute and is used once. */
function assertion(): string {
    $id = getenv('INTEGRATION_CLIENT_ID');
    $claims = ['iss' => $id, 'sub' => $id, 'aud' => getenv('INTEGRATION_BASE_URL'),
        'iat' => time(), 'exp' => time() + 60, 'jti' => bin2hex(random_bytes(16))];
    $base64url = fn(string $bytes) => rtrim(strtr(base64_encode($bytes), '+/', '-_'), '=');
    $signed = $base64url('{"alg":"ES256"}') . '.' . $base64url(json_encode($claims, JSON_UNESCAPED_SLASHES));
    $key = file_get_contents(getenv('INTEGRATION_PRIVATE_KEY_FILE'));
    openssl_sign($signed, $der, $key, OPENSSL_ALGO_SHA256) or throw new RuntimeException(openssl_error_string());
    $r = substr($der, 4, ord($der[3]));
    $s = substr($der, 6 + ord($der[3]));
    $number = fn(string $bytes) => str_pad(substr($bytes, -32), 32, "\\0", STR_PAD_LEFT);
    return $signed . '.' . $base64url($number($r) . $number($s));
}

`,
}
