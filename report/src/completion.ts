// Completion times: percentiles by flow size, and distributions.
import { Chart } from "./chart";
import type { Completion, Design } from "./data";
import { choice, details, html, table } from "./dom";
import { between, count, percent, ratio, size, time } from "./format";
import { say } from "./words";

// What stays when the language is changed.
const state = { measure: "slowdown" as "fct" | "slowdown", percentile: "", tail: "cdf" };

export function completion(data: Completion, designs: Design[]): HTMLElement[] {
  // The highest that some class of sizes has enough flows for, up to p99.
  state.percentile ||= ["p99", "p95", "p50"].find((name) => data.designs.some((one) => one.slowdown[name].some((value) => value !== null))) ?? "mean";
  const percentiles: [string, string][] = [["mean", say("mean")], ["p50", "p50"], ["p95", "p95"], ["p99", "p99"], ["p999", "p99.9"]];
  const measures: [string, string][] = [["slowdown", say("slowdown")], ["fct", say("fct")]];
  const bySize = new Chart("");
  const cdf = new Chart("");
  const numbers = html("div");
  const places = data.sizes.map(([low, high]) => (low === high ? size(low) : between(`${size(low)} `, `\n${size(high)}`).replace(/ +/g, " ")));
  const draw = (): void => {
    const { measure, percentile, tail } = state;
    const show = measure === "fct" ? time : ratio;
    const what = say(measure);
    const label = percentiles.find(([name]) => name === percentile)?.[1] ?? percentile;
    bySize.show(
      {
        x: data.sizes.map((_, index) => index),
        lines: data.designs.map((one, index) => ({ label: designs[index].name, index, values: one[measure][percentile] })),
        showX: count,
        showY: show,
        logY: measure === "fct",
        places,
        points: true,
      },
      say("completion.bySize", { what, label }),
    );
    const rows = data.sizes.map((_, bin) => [
      places[bin].replace("\n", " "),
      ...data.designs.flatMap((one) => {
        const value = one[measure][percentile][bin];
        return [value === null ? "–" : show(value), count(one.count[bin])];
      }),
    ]);
    numbers.replaceChildren(table(say("completion.bySize", { what, label }), [say("completion.size"), ...designs.flatMap((design) => [design.name, say("flows")])], rows));
    const grid = data.cdf[measure];
    const above = tail === "tail";
    cdf.show(
      {
        x: grid.x,
        lines: grid.below.map((below, index) => ({
          label: designs[index].name,
          index,
          values: below.map((n) => (above ? (n < grid.flows[index] ? 1 - n / grid.flows[index] : null) : n / Math.max(grid.flows[index], 1))),
        })),
        showX: show,
        showY: percent,
        logX: true,
        logY: above,
      },
      say(above ? `completion.above.${measure}` : `completion.below.${measure}`),
    );
  };
  const controls = html(
    "div",
    { class: "controls" },
    choice(say("completion.measure"), measures, state.measure, (value) => ((state.measure = value as typeof state.measure), draw())),
    choice(say("completion.statistic"), percentiles, state.percentile, (value) => ((state.percentile = value), draw())),
    choice(say("completion.distribution"), [["cdf", "CDF"], ["tail", say("completion.tail")]], state.tail, (value) => ((state.tail = value), draw())),
  );
  draw();
  const note = html("p", { class: "note" }, say("completion.note"));
  return [controls, html("div", { class: "pair" }, bySize.element, cdf.element), details(say("completion.numbers"), numbers), note];
}
