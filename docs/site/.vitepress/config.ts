// The documentation as a site, from the same Markdown that the repository shows. `make docs` builds
// it into dist/docs; the build fails on a link that leads nowhere.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'

const docs = resolve(dirname(fileURLToPath(import.meta.url)), '../..')
const repository = resolve(docs, '..')
const source = 'https://github.com/interlock-go/interlock/blob/main/'

// title returns the first heading of a page.
function title(page: string): string {
  const heading = readFileSync(join(docs, page), 'utf8').match(/^# (.+)$/m)
  if (!heading) throw new Error(`${page} has no heading`)
  return heading[1].replaceAll('`', '')
}

const item = (page: string) => ({ text: title(page), link: '/' + page.replace(/\.md$/, '') })

const concepts = ['GLOSSARY.md', 'GUARANTEES.md', 'RELIABILITY.md', 'ARCHITECTURE.md']
const contributing = ['ADDING-A-JOB-TYPE.md', 'ADDING-A-STORE.md', 'DEPENDENCIES.md']
const first = ['index.md', 'TUTORIAL.md']
const howTo = readdirSync(join(docs, 'how-to')).filter((f) => f.endsWith('.md')).sort().map((f) => 'how-to/' + f)
// Every other page is reference, so that a new one is listed without an edit here.
const reference = readdirSync(docs)
  .filter((f) => f.endsWith('.md') && ![...first, ...concepts, ...contributing].includes(f))
  .sort()

// leaving returns the address of a link that leads out of docs, into the repository.
function leaving(page: string, href: string): string | undefined {
  const [path, anchor] = href.split('#')
  if (!path || /^[a-z]+:/.test(path) || path.startsWith('/')) return undefined
  const target = resolve(dirname(join(docs, page)), path)
  const inside = !relative(docs, target).startsWith('..')
  if (inside && (path.endsWith('.md') || path.endsWith('.png'))) return undefined
  if (!existsSync(target)) throw new Error(`${page} links to ${href}, which does not exist`)
  return source + relative(repository, target) + (anchor ? '#' + anchor : '')
}

export default defineConfig({
  title: 'Interlock',
  description: 'Decides when a data job may start, and watches what happens afterwards',
  srcDir: '..',
  srcExclude: ['site/**'],
  outDir: join(repository, 'dist/docs'),
  cacheDir: join(repository, 'dist/docs-cache'),
  cleanUrls: false,
  lastUpdated: false,
  markdown: {
    config(md) {
      const fallback = md.renderer.rules.link_open ?? ((tokens, i, options, _, self) => self.renderToken(tokens, i, options))
      md.renderer.rules.link_open = (tokens, i, options, env, self) => {
        const href = tokens[i].attrGet('href')
        const away = href && leaving(env.relativePath, decodeURI(href))
        if (away) tokens[i].attrSet('href', away)
        return fallback(tokens, i, options, env, self)
      }
    },
  },
  // The pages are outside this folder, where the bundler would not find Vue.
  vite: {
    resolve: {
      alias: [
        { find: /^vue\/server-renderer$/, replacement: join(docs, 'site/node_modules/vue/server-renderer/index.mjs') },
        { find: /^vue$/, replacement: join(docs, 'site/node_modules/vue/dist/vue.runtime.esm-bundler.js') },
      ],
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Tutorial', link: '/TUTORIAL' },
      { text: 'How-to', link: '/' + howTo[0].replace(/\.md$/, '') },
      { text: 'Reference', link: '/PIPELINES' },
    ],
    sidebar: [
      { text: 'Start', items: first.map(item) },
      { text: 'How-to', items: howTo.map(item) },
      { text: 'Concepts', items: concepts.map(item) },
      { text: 'Reference', items: reference.map(item) },
      { text: 'Contributing', collapsed: true, items: contributing.map(item) },
    ],
  },
})
