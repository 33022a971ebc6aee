import { mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type Browser, chromium } from 'playwright-core'
import { run } from './program.ts'

const EXTRACT_DEADLINE_MS = 120_000

const FLAGS = [
  '--disable-gpu',
  '--disable-quic',
  '--disable-sync',
  '--disable-component-update',
  '--disable-background-networking',
  '--disable-dev-shm-usage',
  '--font-render-hinting=none',
  '--no-first-run',
  // No page of a test lives long enough for optimised code to repay its compiler.
  '--js-flags=--no-maglev,--no-turbofan',
  // A window of few large tiles is painted, sent and drawn at less cost than one of many small ones.
  '--default-tile-width=2048',
  '--default-tile-height=2048',
]

/**
 * The Chromium that an npm package carries, with the libraries and fonts that it needs and a bare Debian
 * lacks.
 * @throws Error when it does not start.
 */
export async function launchChromium(): Promise<Browser> {
  const folder = await extracted()
  return chromium.launch({
    executablePath: join(folder, 'chromium'),
    // Chromium's sandbox needs rights that containers often lack, and root. It only visits the local stack.
    args: ['--no-sandbox', ...FLAGS],
    env: {
      ...(process.env as Record<string, string>),
      LD_LIBRARY_PATH: join(folder, 'al2023', 'lib'),
      FONTCONFIG_PATH: join(folder, 'fonts'),
    },
  })
}

/**
 * The package extracts into the temporary folder, for one user, and takes a half-written file for a whole
 * one. So it is told to use a folder of its own, which is moved into place when it is complete.
 */
async function extracted(): Promise<string> {
  const main = fileURLToPath(import.meta.resolve('@sparticuz/chromium'))
  const { version } = JSON.parse(await readFile(join(dirname(main), '..', 'package.json'), 'utf8'))
  // Kept for the next run, unlike what is in the temporary folder of this one.
  const parent = process.env.TEST_CHROMIUM_PARENT ?? tmpdir()
  const folder = join(parent, `integration-access-chromium-${version}-${process.getuid?.() ?? 0}`)
  if (await stat(folder).catch(() => null)) return folder
  const fresh = await mkdtemp(`${folder}-`)
  const script = `import(${JSON.stringify(pathToFileURL(main).href)}).then((it) => it.default.executablePath())`
  await run(process.execPath, ['--eval', script], {
    timeout: EXTRACT_DEADLINE_MS,
    // The variable is how the package learns to extract its libraries as well.
    env: { ...process.env, TMPDIR: fresh, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x' },
  })
  await writeFile(join(fresh, 'fonts', 'fonts.conf'), writeFontConfig(folder))
  await rename(fresh, folder).catch(async (error) => {
    await rm(fresh, { recursive: true, force: true })
    if (!(await stat(folder).catch(() => null))) throw error
  })
  return folder
}

const writeFontConfig = (folder: string): string => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts</dir>
  <dir>${join(folder, 'fonts')}</dir>
  <cachedir>${join(folder, 'fonts-cache')}</cachedir>
</fontconfig>
`
