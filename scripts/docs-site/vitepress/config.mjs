// The configuration of VitePress, copied by scripts/docs.ts beside the pages, with what it says in site.json.
import { readFileSync } from 'node:fs';
import { anchorOf } from './markdown.ts';

const { base, outDir, sidebar } = JSON.parse(readFileSync(new URL('site.json', import.meta.url), 'utf8'));

export default {
  head: [['link', { rel: 'icon', href: `${base}icon.svg` }]],
  lang: 'en',
  title: 'Naru',
  description: 'The documentation of Naru, an inference gateway that bills exactly, in won.',
  base,
  outDir,
  srcDir: 'pages',
  metaChunk: true,
  markdown: {
    // A path such as /keys/{hash} is no list of attributes.
    attrs: { disable: true },
    anchor: { slugify: anchorOf },
    config(md) {
      // A wide table scrolls by itself, not with the page.
      md.renderer.rules.table_open = () => '<div class="wide"><table tabindex="0">';
      md.renderer.rules.table_close = () => '</table></div>';
    },
  },
  themeConfig: {
    sidebar,
    nav: [
      { text: 'Quick start', link: '/quick-start' },
      { text: 'Tasks', link: '/tasks' },
      { text: 'Runbook', link: '/runbook' },
      { text: 'Configuration', link: '/configuration' },
      { text: '한국어', link: '/ko/quick-start' },
    ],
    outline: [2, 3],
    externalLinkIcon: true,
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          options: {
            // A Korean word is found by any part of it from its second syllable on: compounds have
            // no spaces.
            tokenize: (text, field) => {
              const found = text.split(/[\n\r\p{Z}\p{P}`|<>=+$^~]+/u).filter((word) => word !== '');
              if (field === undefined) return found;
              return found.flatMap((word) =>
                /^\p{Script=Hangul}{3,}$/u.test(word)
                  ? Array.from({ length: word.length - 1 }, (_, start) => word.slice(start))
                  : [word],
              );
            },
          },
          searchOptions: { fuzzy: 0.15, prefix: true, boost: { title: 4, text: 2, titles: 1 } },
        },
      },
    },
  },
};
