import { type PlatformId, platformOf, type Workload } from './platforms.ts'

interface Job {
  workload: Workload
  /** Whom the tokens are for. */
  audience: string
}

/** The commands that put the platform's token into ASSERTION. */
const ASSERTIONS: Record<PlatformId, (job: Job) => string> = {
  github: ({ audience }) =>
    `ASSERTION=$(curl -sS -H "Authorization: Bearer $ACTIONS_ID_TOKEN_REQUEST_TOKEN" \\
  "$ACTIONS_ID_TOKEN_REQUEST_URL&audience=${audience}" |
  sed -nE 's/.*"value":"([^"]+)".*/\\1/p')`,
  gitlab: () => '# The runner puts the token of id_tokens into ASSERTION',
  kubernetes: () => 'ASSERTION=$(cat /var/run/secrets/integration/token)',
  spiffe: ({ audience }) =>
    `ASSERTION=$(spire-agent api fetch jwt -audience ${audience} | sed -nE 's/^[[:space:]]+(ey[A-Za-z0-9._-]+)$/\\1/p')`,
  google: ({ audience }) =>
    `ASSERTION=$(curl -sS -H 'Metadata-Flavor: Google' \\
  'http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/identity?audience=${audience}')`,
  aws: ({ audience }) =>
    `ASSERTION=$(aws sts get-web-identity-token --audience ${audience} \\
  --signing-algorithm ES384 --duration-seconds 300 --query WebIdentityToken --output text)`,
  other: ({ audience }) => `# A token of the platform whose aud is ${audience}
ASSERTION=$(cat platform-token.jwt)`,
}

export const assertionInShell = (job: Job): string => ASSERTIONS[platformOf(job.workload)](job)

const indented = (text: string, spaces: number): string =>
  text.trimEnd().replaceAll(/^(?=.)/gm, ' '.repeat(spaces))

const environmentLine = ({ claims }: Workload, spaces: number): string =>
  claims.environment ? `\n${' '.repeat(spaces)}environment: ${JSON.stringify(claims.environment)}` : ''

const FILES: { [id in PlatformId]?: { name: string; text: (job: Job, script: string) => string } } = {
  github: {
    name: '.github/workflows/report.yml',
    text: ({ workload }, script) => `name: Report
on: workflow_dispatch
permissions:
  id-token: write
jobs:
  report:
    runs-on: ubuntu-latest${environmentLine(workload, 4)}
    steps:
      - run: |
${indented(script, 10)}
`,
  },
  gitlab: {
    name: '.gitlab-ci.yml',
    text: ({ workload, audience }, script) => `report:${environmentLine(workload, 2)}
  id_tokens:
    ASSERTION:
      aud: ${audience}
  script:
    - |
${indented(script, 6)}
`,
  },
  kubernetes: {
    name: 'report.yaml',
    text({ workload, audience }, script) {
      const [namespace, account] = workload.claims.sub?.split(':').slice(2) ?? []
      return `apiVersion: v1
kind: Pod
metadata:
  name: report
  namespace: ${namespace}
spec:
  serviceAccountName: ${account}
  restartPolicy: Never
  containers:
    - name: report
      image: curlimages/curl
      command: [sh, -c]
      args:
        - |
${indented(script, 10)}
      volumeMounts:
        - name: integration
          mountPath: /var/run/secrets/integration
          readOnly: true
  volumes:
    - name: integration
      projected:
        sources:
          - serviceAccountToken:
              path: token
              audience: ${audience}
              expirationSeconds: 600
`
    },
  },
}

/** Returns the platform's own file with the commands of a job, or the commands where it has none. */
export function workloadFile(job: Job, script: string): { name: string; text: string } {
  const file = FILES[platformOf(job.workload)]
  return file ? { name: file.name, text: file.text(job, script) } : { name: 'curl', text: script }
}
