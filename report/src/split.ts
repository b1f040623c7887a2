// Where the time went: the parts of completion times.
import type { Design, Split } from "./data";
import { choice, details, html, table } from "./dom";
import { count, percent, time } from "./format";

export function split(data: Split, designs: Design[]): HTMLElement[] {
  const bars = html("div", { class: "bars" });
  const numbers = html("div");
  const draw = (index: number): void => {
    const group = data.groups[index];
    const rows = group.designs.map((one, place) => {
      const name = html("span", { class: "name" }, designs[place].name);
      if (!one) return html("div", { class: "bar-row" }, name, html("span", { class: "note" }, "no flows of this size"));
      const bar = html("div", { class: "stack", role: "img", "aria-label": data.labels.map((label, at) => `${label} ${percent(one.shares[at])}`).join(", ") });
      one.shares.forEach((share, at) => {
        if (share <= 0) return;
        const label = data.labels[at];
        const piece = html("span", { class: `piece part-${label}`, title: `${label}: ${percent(share)}` });
        piece.style.flexGrow = String(share);
        if (share > 0.13) piece.append(`${label} ${Math.round(100 * share)} %`);
        else if (share > 0.045) piece.append(`${Math.round(100 * share)} %`);
        bar.append(piece);
      });
      return html("div", { class: "bar-row" }, name, bar, html("span", { class: "sum" }, `mean ${time(one.mean_fct_ns)}`));
    });
    bars.replaceChildren(...rows);
    const cells = data.labels.map((label, at) => [label, ...group.designs.map((one) => (one ? percent(one.shares[at]) : "–"))]);
    cells.push(["mean completion time", ...group.designs.map((one) => (one ? time(one.mean_fct_ns) : "–"))], ["flows", ...group.designs.map((one) => (one ? count(one.flows) : "–"))]);
    numbers.replaceChildren(table(`Mean share of each part, flows: ${group.size}`, ["part", ...designs.map((design) => design.name)], cells));
  };
  const used = data.labels.filter((_, at) => data.groups.some((group) => group.designs.some((one) => one && one.shares[at] > 0)));
  const legend = html("p", { class: "readout" }, ...used.map((label) => html("span", { class: "entry" }, html("span", { class: `swatch part-${label}` }), label)));
  const sizes = data.groups.map((group, index): [string, string] => [String(index), group.size]);
  const controls = sizes.length > 1 ? [html("div", { class: "controls" }, choice("Flows", sizes, "0", (value) => draw(Number(value))))] : [];
  draw(0);
  const note = "Mean over the flows of each part's share of the completion time. Parts of a flow add up to its completion time exactly; each wait is charged to what was released last.";
  return [...controls, bars, legend, details("The numbers", numbers), html("p", { class: "note" }, note)];
}
