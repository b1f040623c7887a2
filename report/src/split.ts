// Where the time went: the parts of completion times.
import type { Design, Split } from "./data";
import { choice, details, html, table } from "./dom";
import { count, percent, time } from "./format";
import { type Key, list, named, say } from "./words";

const state = { group: 0 };

const word = (label: string): string => say(`part.${label}` as Key);

// Parts side by side, as long as their shares.
export function stack(labels: string[], shares: number[]): HTMLElement {
  const bar = html("div", { class: "stack", role: "img", "aria-label": list(labels.flatMap((label, at) => (shares[at] > 0 ? [`${word(label)} ${percent(shares[at])}`] : []))) });
  shares.forEach((share, at) => {
    if (share <= 0) return;
    const piece = html("span", { class: `piece part-${labels[at]}`, title: `${word(labels[at])} ${percent(share)}` });
    piece.style.flexGrow = String(share);
    const rounded = percent(Math.round(100 * share) / 100);
    if (share > 0.13) piece.append(`${word(labels[at])} ${rounded}`);
    else if (share > 0.045) piece.append(rounded);
    bar.append(piece);
  });
  return bar;
}

export function split(data: Split, designs: Design[]): HTMLElement[] {
  const bars = html("div", { class: "bars" });
  const numbers = html("div");
  const sizeOf = (group: Split["groups"][number]): string => named("sizes", group.size);
  const draw = (index: number): void => {
    state.group = index;
    const group = data.groups[index];
    const rows = group.designs.map((one, place) => {
      const name = html("span", { class: "name" }, designs[place].name);
      if (!one) return html("div", { class: "bar-row" }, name, html("span", { class: "note" }, say("split.noFlows")));
      return html("div", { class: "bar-row" }, name, stack(data.labels, one.shares), html("span", { class: "sum" }, say("split.mean", { time: time(one.mean_fct_ns) })));
    });
    bars.replaceChildren(...rows);
    const cells = data.labels.map((label, at) => [word(label), ...group.designs.map((one) => (one ? percent(one.shares[at]) : "–"))]);
    cells.push([say("split.meanFct"), ...group.designs.map((one) => (one ? time(one.mean_fct_ns) : "–"))], [say("flows"), ...group.designs.map((one) => (one ? count(one.flows) : "–"))]);
    numbers.replaceChildren(table(say("split.caption", { size: sizeOf(group) }), [say("split.part"), ...designs.map((design) => design.name)], cells));
  };
  const used = data.labels.filter((_, at) => data.groups.some((group) => group.designs.some((one) => one && one.shares[at] > 0)));
  const legend = html("p", { class: "readout" }, ...used.map((label) => html("span", { class: "entry" }, html("span", { class: `swatch part-${label}` }), word(label))));
  const sizes = data.groups.map((group, index): [string, string] => [String(index), sizeOf(group)]);
  const controls = sizes.length > 1 ? [html("div", { class: "controls" }, choice(say("split.flows"), sizes, String(state.group), (value) => draw(Number(value))))] : [];
  draw(state.group);
  return [...controls, bars, legend, details(say("numbers"), numbers), html("p", { class: "note" }, say("split.note"))];
}
