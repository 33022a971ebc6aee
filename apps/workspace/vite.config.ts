import { realpathSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

const ROOT = join(import.meta.dirname, '../..')
const FIRST_FONTS = [
  /atkinson-hyperlegible-next-latin-wght-normal-.*\.woff2$/,
  /atkinson-hyperlegible-mono-latin-wght-normal-.*\.woff2$/,
]
const COMPRESSIBLE = /\.(?:html|js|css|svg)$/

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), tailwind(), preloadedFonts(), compressed()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2022',
    // The Content-Security-Policy allows no script, style or font that is written into the page.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'licenses.md' },
  },
  server: {
    // The browser cannot read anything else in the repository, such as the local stack's secrets in .data.
    fs: { allow: ['apps/workspace', 'shared', 'node_modules'].map((name) => realpathSync(join(ROOT, name))) },
  },
})

/** Requests the fonts with the page, so that no column changes its width when they arrive. */
function preloadedFonts(): Plugin {
  return {
    name: 'preloaded-fonts',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler(_html, { bundle = {} }) {
        return FIRST_FONTS.map((font) => {
          const file = Object.keys(bundle).find((name) => font.test(name))
          if (!file) throw new Error(`no font of the build matches ${font}`)
          const attrs = {
            rel: 'preload',
            href: `/${file}`,
            as: 'font',
            type: 'font/woff2',
            crossorigin: true,
          }
          return { tag: 'link', attrs, injectTo: 'head' }
        })
      },
    },
  }
}

/** Writes .br and .gz beside every text file of the build, so that servers need not compress each answer. */
function compressed(): Plugin {
  let outDir = ''
  return {
    name: 'compressed',
    apply: 'build',
    configResolved(config) {
      outDir = join(config.root, config.build.outDir)
    },
    async closeBundle() {
      for (const file of await readdir(outDir, { recursive: true })) {
        if (!COMPRESSIBLE.test(file)) continue
        const path = join(outDir, file)
        const content = await readFile(path)
        await writeFile(`${path}.br`, await promisify(brotliCompress)(content))
        await writeFile(`${path}.gz`, await promisify(gzip)(content, { level: 9 }))
      }
    },
  }
}
