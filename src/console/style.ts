/** The style sheet of the pages: one column on a phone, light and dark by the system's setting, no foreign fonts. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --back: #f6f5f2; --card: #fff; --ink: #1d1c1a; --soft: #66625a; --line: #e2dfd7; --mark: #8a4b00; --mark-back: #fff3df;
  --good: #1a6b3c; --bad: #a3261d; --open: #8a5a00; --look: #6a3d9a; --link: #1f4fa3;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #161513; --card: #1f1e1b; --ink: #eceae5; --soft: #a19c91; --line: #35332e; --mark: #f2bd73; --mark-back: #3a2b12;
    --good: #76cf9a; --bad: #f0928a; --open: #e7b75f; --look: #c9a7f5; --link: #9dbcf5;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink); font: 16px/1.55 system-ui, "PingFang SC", "Microsoft YaHei", sans-serif; }
main, header { max-width: 46rem; margin: 0 auto; padding: 1rem; }
header { display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: baseline; color: var(--soft); font-size: .875rem; }
header form { margin: 0; }
header .brand { margin-right: auto; font-weight: 600; color: var(--ink); }
h1 { font-size: 1.375rem; line-height: 1.3; margin: .25rem 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 0 0 .5rem; }
section { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: 1rem; margin: 0 0 1rem; }
dl { margin: 0; display: grid; grid-template-columns: minmax(6rem, 11rem) 1fr; gap: .375rem 1rem; }
dt { color: var(--soft); overflow-wrap: anywhere; }
dd { margin: 0; overflow-wrap: anywhere; }
dd.value, code { font-family: ui-monospace, "Cascadia Mono", Menlo, monospace; font-size: .9375rem; white-space: pre-wrap; }
ol, ul { margin: 0; padding-left: 1.25rem; }
li { overflow-wrap: anywhere; margin-bottom: .25rem; }
time, .soft { color: var(--soft); }
.code { font-family: ui-monospace, Menlo, monospace; font-size: 1.25rem; letter-spacing: .08em; color: var(--ink); }
.warning, .error { background: var(--mark-back); color: var(--mark); border-radius: .375rem; padding: .5rem .75rem; margin: 0 0 .75rem; }
.badge { color: var(--mark); font-size: .8125rem; }
h1.succeeded { color: var(--good); }
h1.approved, h1.cooling-off, h1.executing { color: var(--link); }
h1.unknown { color: var(--look); }
h1.rejected, h1.failed, h1.undeliverable { color: var(--bad); }
h1.pending { color: var(--open); }
label { display: block; margin-bottom: .25rem; }
input, textarea { width: 100%; font: inherit; padding: .5rem .625rem; border: 1px solid var(--line); border-radius: .375rem; background: var(--back); color: inherit; }
button { font: inherit; padding: .5rem 1rem; margin-top: .75rem; border: 0; border-radius: .375rem; background: var(--ink); color: var(--card); cursor: pointer; }
header button { background: none; color: var(--link); padding: 0; margin: 0; }
a { color: var(--link); }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
@media (max-width: 30rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; } }
`;
