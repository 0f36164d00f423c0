#include "trainer/records/html.h"

namespace ondine::records {

std::string style_sheet() {
  return R"(
:root { color-scheme: light dark; --back: #fff; --panel: #f6f7f9; --text: #1b1f24;
  --faint: #5b6470; --rule: #d9dde3; --training: #2563c9; --validation: #c2410c;
  --right: 37, 99, 201; --wrong: 194, 65, 12; --darkest: .75; }
@media (prefers-color-scheme: dark) { :root { --back: #14171b; --panel: #1d2127;
  --text: #e6e9ed; --faint: #9aa4b1; --rule: #363d47; --training: #6ea8ff; --validation: #ff9d5c;
  --right: 110, 168, 255; --wrong: 255, 157, 92; --darkest: .5; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1100px; padding: 1.25rem 1rem 3rem; background: var(--back);
  color: var(--text); font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2rem 0 .75rem; }
.outcome { color: var(--faint); margin: 0 0 1rem; overflow-wrap: anywhere; }
.outcome.failed { color: var(--validation); font-weight: 600; }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: .6rem;
  margin: 0; }
.tiles div { background: var(--panel); border: 1px solid var(--rule); border-radius: .5rem;
  padding: .55rem .75rem; min-width: 0; }
.tiles dt { color: var(--faint); font-size: .8rem; overflow-wrap: anywhere; }
.tiles dd { margin: 0; font-size: 1.2rem; font-variant-numeric: tabular-nums; }
.grid2 { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr));
  gap: 1rem; }
figure, .panel { margin: 0; background: var(--panel); border: 1px solid var(--rule);
  border-radius: .5rem; padding: .75rem; min-width: 0; }
figcaption { font-weight: 600; overflow-wrap: anywhere; }
.legend { margin: 0; font-size: .8rem; color: var(--faint); display: flex; flex-wrap: wrap;
  gap: 0 1rem; }
.legend span::before { content: ""; display: inline-block; width: 1rem; height: .2rem;
  border-radius: .1rem; margin-right: .35rem; vertical-align: middle; background: var(--training); }
.legend .validation::before { background: var(--validation); }
.legend .steps::before { opacity: .55; }
.plot { display: grid; grid-template-columns: 3.4rem 1fr; grid-template-rows: 13rem 1.3rem;
  margin: .75rem .75rem 0 0; font-size: .75rem; color: var(--faint);
  font-variant-numeric: tabular-nums; }
.plot svg { width: 100%; height: 100%; overflow: visible; }
.plot .y, .plot .x { position: relative; }
.plot .y span { position: absolute; right: .5rem; transform: translateY(-50%); white-space: nowrap; }
.plot .x { grid-column: 2; }
.plot .x span { position: absolute; top: .25rem; transform: translateX(-50%); }
.axis { margin: 0; text-align: center; font-size: .75rem; color: var(--faint); }
svg path { fill: none; vector-effect: non-scaling-stroke; stroke-width: 2;
  stroke-linejoin: round; stroke-linecap: round; }
svg .grid { stroke: var(--rule); stroke-width: 1; }
svg .training { stroke: var(--training); }
svg .validation { stroke: var(--validation); }
svg .steps { stroke: var(--training); stroke-width: 1.25; opacity: .55; }
svg .dots { stroke-width: 6; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .875rem; }
th, td { padding: .3rem .55rem; border: 1px solid var(--rule); }
th { font-weight: 500; color: var(--faint); text-align: left; }
td.number, .matrix thead th + th, .classes thead th + th { text-align: right; }
.matrix td { text-align: right; min-width: 2.75rem; }
.matrix th { white-space: nowrap; }
.matrix .right { background: rgba(var(--right), calc(var(--share) * .55)); }
.matrix .wrong { background: rgba(var(--wrong), min(var(--darkest), calc(var(--share) * 4))); }
.matrix .share { color: var(--faint); }
@media (max-width: 30rem) { th, td { padding: .3rem .25rem; } .matrix td { min-width: 2.25rem; } }
.facts { display: grid; grid-template-columns: minmax(6rem, auto) 1fr; gap: .2rem 1rem; margin: 0;
  font-size: .9rem; }
.facts dt { color: var(--faint); overflow-wrap: anywhere; }
.facts dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
.worst { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: .6rem; }
.worst figure { padding: .6rem; }
.worst img { width: 100%; aspect-ratio: 1; object-fit: contain; image-rendering: pixelated;
  background: #000; border-radius: .25rem; display: block; margin-bottom: .4rem; }
.worst p { margin: 0; font-size: .8rem; overflow-wrap: anywhere; }
.worst span { color: var(--faint); }
.panel h3 { font-size: 1rem; margin: 0 0 .4rem; }
)";
}

}  // namespace ondine::records
