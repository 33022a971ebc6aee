/** The whole style of the documentation page. Its hash is in the page's Content-Security-Policy. */
export const DOCS_STYLE = `
:root { color-scheme: light dark; --text: light-dark(#1b1f24, #e3e7ec); --soft: light-dark(#57606a, #9aa5b1);
  --line: light-dark(#d5dae0, #333b45); --back: light-dark(#ffffff, #12161b); --raised: light-dark(#f4f6f8, #1b2129);
  --accent: light-dark(#0b57b8, #7ab7ff); }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 78rem; color: var(--text); background: var(--back);
  font: 16px/1.55 system-ui, sans-serif; display: grid; gap: 0 3rem; grid-template-columns: 16rem minmax(0, 1fr); }
header { grid-column: 1 / -1; }
nav { font-size: .9rem; position: sticky; top: 1rem; align-self: start; max-height: 95vh; overflow: auto; }
nav ul { list-style: none; margin: 0; padding: 0 0 0 .75rem; }
nav > ul { padding: 0; }
nav li { margin: .25rem 0; }
a { color: var(--accent); }
a:focus-visible, pre:focus-visible, .table:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
h1 { margin: 0; font-size: 1.75rem; } h2 { margin: 2.5rem 0 .5rem; } h3 { margin: 2rem 0 .25rem; } h4 { margin: 1rem 0 .25rem; }
article:target { background: var(--raised); box-shadow: 0 0 0 .75rem var(--raised); border-radius: .25rem; }
code { font: .875em/1.4 ui-monospace, monospace; background: var(--raised); padding: .1em .3em; border-radius: .25em;
  overflow-wrap: anywhere; }
pre { background: var(--raised); border: 1px solid var(--line); border-radius: .5rem; padding: 1rem; overflow: auto; }
pre code { padding: 0; background: none; }
.route { font-size: 1.05rem; } .route b { color: var(--accent); }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .75rem .4rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; }
@media (max-width: 56rem) { body { display: block; padding: 1rem; } nav { position: static; max-height: none; } }
`
