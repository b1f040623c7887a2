// Completion times: percentiles by flow size, and distributions.
import { Chart } from "./chart";
import type { Completion, Design } from "./data";
import { choice, details, html, table } from "./dom";
import { count, percent, ratio, size, time } from "./format";

const PERCENTILES: [string, string][] = [["mean", "Mean"], ["p50", "p50"], ["p95", "p95"], ["p99", "p99"], ["p999", "p99.9"]];
const MEASURES: [string, string][] = [["slowdown", "Slowdown"], ["fct", "Completion time"]];

export function completion(data: Completion, designs: Design[]): HTMLElement[] {
  let measure: "fct" | "slowdown" = "slowdown";
  // The highest that some class of sizes has enough flows for, up to p99.
  let percentile = ["p99", "p95", "p50"].find((name) => data.designs.some((one) => one.slowdown[name].some((value) => value !== null))) ?? "mean";
  let tail = "cdf";
  const bySize = new Chart("");
  const cdf = new Chart("");
  const numbers = html("div");
  const places = data.sizes.map(([low, high]) => (low === high ? size(low) : `${size(low)} –\n${size(high)}`));
  const draw = (): void => {
    const show = measure === "fct" ? time : ratio;
    const what = measure === "fct" ? "Completion time" : "Slowdown";
    const label = PERCENTILES.find(([name]) => name === percentile)?.[1] ?? percentile;
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
      `${what} by flow size, ${label}`,
    );
    const rows = data.sizes.map((_, bin) => [
      places[bin].replace("\n", " "),
      ...data.designs.flatMap((one) => {
        const value = one[measure][percentile][bin];
        return [value === null ? "–" : show(value), count(one.count[bin])];
      }),
    ]);
    numbers.replaceChildren(table(`${what}, ${label}, by flow size`, ["flow size", ...designs.flatMap((design) => [design.name, "flows"])], rows));
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
      above ? `Share of flows with a larger ${what.toLowerCase()}` : `Share of flows up to a ${what.toLowerCase()}`,
    );
  };
  const controls = html(
    "div",
    { class: "controls" },
    choice("Measure", MEASURES, measure, (value) => ((measure = value as typeof measure), draw())),
    choice("Statistic", PERCENTILES, percentile, (value) => ((percentile = value), draw())),
    choice("Distribution", [["cdf", "CDF"], ["tail", "Tail"]], tail, (value) => ((tail = value), draw())),
  );
  draw();
  const note = html("p", { class: "note" }, "A percentile stands only where a class has enough flows for it: 20 for p95, 100 for p99, 1,000 for p99.9. All seeds together; flows that started in the warm-up are left out.");
  return [controls, html("div", { class: "pair" }, bySize.element, cdf.element), details("The numbers by flow size", numbers), note];
}
