"""The style sheet of the report page: light and dark, wide and narrow."""

STYLE = """
:root { --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --page: #ffffff; --panel: #f6f8fa;
  --accent: #0072b2; --wash: rgba(0, 114, 178, .17);
  --c0: #0072b2; --c1: #e69f00; --c2: #009e73; --c3: #cc79a7; --c4: #56b4e9; --c5: #d55e00;
  --c6: #8c959f; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --soft: #9aa4af; --line: #353c44; --page: #0f1318; --panel: #171c22;
    --accent: #58aee0; --wash: rgba(88, 174, 224, .24);
    --c0: #3d94cf; --c1: #e6a72e; --c2: #2fb391; --c3: #d48fb6; --c4: #84c8f0; --c5: #e5793a;
    --c6: #77818c; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; }
.sub { color: var(--soft); margin: .2rem 0 1.4rem; }
section > p { max-width: 75ch; margin: 0; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(7rem, 1fr));
  gap: .6rem; margin: 0; }
.figures div { background: var(--panel); border: 1px solid var(--line); border-radius: 8px;
  padding: .6rem .8rem; display: flex; flex-direction: column; }
.figures dd { margin: 0; font-size: 1.35rem; font-weight: 650; font-variant-numeric: tabular-nums; }
.figures dt { color: var(--soft); font-size: .82rem; }
figure { margin: 0; padding: .8rem; overflow-x: auto; background: var(--panel);
  border: 1px solid var(--line); border-radius: 8px; }
figure svg { display: block; width: 100%; min-width: 560px; max-width: 820px; height: auto;
  margin: 0 auto; }
details { margin-top: .6rem; }
summary { cursor: pointer; color: var(--soft); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; color: var(--soft); font-weight: 600; font-size: .85rem; }
th, td { padding: .75rem .9rem .75rem 0; vertical-align: top;
  border-bottom: 1px solid var(--line); }
.trace { width: auto; font-size: .9rem; font-variant-numeric: tabular-nums; }
.trace td, .trace th { padding: .25rem 1.4rem .25rem 0; text-align: right; }
.trace .chosen td { font-weight: 700; }
.topics { table-layout: fixed; }
.topics th:nth-child(1) { width: 9.5rem; }
.topics th:nth-child(3) { width: 46%; }
.number { display: inline-block; min-width: 2rem; color: var(--soft);
  font-variant-numeric: tabular-nums; }
.meter { display: inline-block; width: 2.6rem; height: 5px; margin: 0 0 .18rem .5rem;
  background: var(--line); }
.meter i { display: block; height: 100%; background: var(--soft); }
.bar { display: flex; gap: 1px; height: 11px; margin: .5rem 0 .2rem; border-radius: 4px;
  overflow: hidden; background: var(--line); }
small { color: var(--soft); }
.words { margin: 0; line-height: 1.95; overflow-wrap: anywhere; }
.w { padding: .12rem .3rem; border-radius: 4px; margin-right: .15rem;
  background: linear-gradient(to right, var(--wash) var(--p), transparent var(--p)); }
.lift { margin: .35rem 0 0; font-size: .87rem; color: var(--soft); overflow-wrap: anywhere; }
.lift em { font-style: normal; font-weight: 600; margin-right: .3rem; }
.rows ul { list-style: none; margin: 0; padding: 0; }
.rows li + li { margin-top: .5rem; }
.rows b { font: 600 .86rem/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
  overflow-wrap: anywhere; }
.rows p { margin: 0; font-size: .87rem; color: var(--soft); overflow: hidden;
  display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2;
  overflow-wrap: anywhere; }
.tree, .tree ul { list-style: none; margin: 0; padding: 0 0 0 1.1rem; }
.tree { padding: .6rem 0 0; }
.tree details { margin: 0; }
.tree summary { color: var(--ink); }
.tree li { margin: .15rem 0; overflow-wrap: anywhere; }
.tree .leaf { padding-left: 1.05rem; }
.tree a { color: var(--accent); text-decoration: none; }
.tree a:hover { text-decoration: underline; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; margin: 0 0 .4rem;
  padding: 0; font-size: .87rem; }
.legend i { display: inline-block; width: .75rem; height: .75rem; border-radius: 3px;
  margin-right: .4rem; }
.c0 { background: var(--c0); } .c1 { background: var(--c1); } .c2 { background: var(--c2); }
.c3 { background: var(--c3); } .c4 { background: var(--c4); } .c5 { background: var(--c5); }
.c6 { background: var(--c6); }
@media (max-width: 760px) {
  .topics, .topics tbody, .topics tr, .topics td { display: block; width: auto; }
  .topics thead { display: none; }
  .topics td { border: 0; padding: .35rem 0; }
  .topics tr { border-bottom: 1px solid var(--line); padding: .7rem 0; }
}
@media print { details { display: none; } .topics tr { break-inside: avoid; } }
"""
