// Completion times: distribution by design with percentiles at the curves, and percentiles by flow
// size.
import { type Shown, alikeNote, distinct, label } from "./alike";
import type { Completion, Percentiles, Report } from "./data";
import { choice, chooser, details, html, svg, table } from "./dom";
import { type Show, between, count, ratio, size, time } from "./format";
import { Multiples, axis, ticks } from "./multiples";
import { counted, language, say, sentences } from "./words";

type Measure = "fct" | "slowdown";

const NAMES: (keyof Percentiles)[] = ["p50", "p95", "p99", "p999"];
const BARS = 80;
const TICKS = 9;

// State that is kept when the language changes.
const state = { measure: "fct" as Measure, percentile: "" as keyof Percentiles | "", group: 0 };

const spoken = (name: keyof Percentiles): string => (name === "mean" ? say("mean") : name === "p999" ? "p99.9" : name);

export function completion(report: Report): HTMLElement[] {
  const data = report.completion!;
  const shown = distinct(report);
  // Select the highest percentile, up to p99, for which half of the size classes have enough flows.
  const known = (name: keyof Percentiles): number => data.designs.reduce((sum, one) => sum + one.slowdown[name].filter((value) => value !== null).length, 0);
  state.percentile ||= (["p99", "p95", "p50"] as const).find((name) => 2 * known(name) >= known("mean")) ?? "mean";
  const lead = html("p", { class: "lead" });
  const title = html("h3");
  const rows = html("div", { class: "curves" });
  const heights = html("p", { class: "note" });
  const numbers = html("div");
  const sizesTitle = html("h3");
  const sizes = new Multiples();
  const sizeNumbers = html("div");
  const draw = (): void => {
    const group = data.groups[state.group];
    const show = state.measure === "fct" ? time : ratio;
    lead.textContent = group.said[state.measure][language()];
    title.textContent = say(`completion.distribution.${state.measure}`);
    const grid = group.cdf?.[state.measure] ?? data.cdf[state.measure];
    const known = grid.flows.some((flows) => flows > 0);
    rows.classList.toggle("curves", known);
    rows.replaceChildren(...(known ? distribution(grid, group, shown, show) : [html("p", { class: "note" }, say(`completion.none.${state.measure}`))]));
    heights.hidden = !known;
    const cells = (name: keyof Percentiles): string[] => group.percentiles.map((of) => (of[state.measure][name] === null ? "–" : show(of[state.measure][name]!)));
    const censored = group.unfinished.some((left) => left > 0);
    const left = censored ? [[say("completion.left"), ...group.unfinished.map(count)]] : [];
    const lines = [...(["mean", ...NAMES] as const).map((name) => [spoken(name), ...cells(name)]), [say("flows"), ...group.flows.map(count)], ...left];
    heights.textContent = say(censored ? "completion.heights.finished" : "completion.heights");
    numbers.replaceChildren(table(say(state.measure), ["", ...report.designs.map(({ name }) => name)], lines));
  };
  const drawSizes = (): void => {
    const { measure } = state;
    const percentile = state.percentile as keyof Percentiles;
    const show = measure === "fct" ? time : ratio;
    const words = { what: say(measure), label: spoken(percentile) };
    sizesTitle.textContent = say("completion.bySize", words);
    sizes.show({
      x: data.sizes.map(([, high]) => high),
      panels: shown.map(({ index, name, colour }) => ({ name, colour, text: "", values: data.designs[index][measure][percentile] })),
      showX: size,
      showY: show,
      logX: true,
      logY: true,
      dots: true,
      ghost: 0,
    });
    const places = data.sizes.map(([low, high]) => (low === high ? size(low) : between(size(low), size(high))));
    const lines = data.sizes.map((_, bin) => [
      places[bin],
      ...data.designs.flatMap((one) => {
        const value = one[measure][percentile][bin];
        return [value === null ? "–" : show(value), count(one.count[bin])];
      }),
    ]);
    const head = [say("completion.size"), ...report.designs.flatMap((design) => [design.name, say("flows")])];
    sizeNumbers.replaceChildren(table(say("completion.bySize", words), head, lines));
  };
  const all = (): void => (draw(), drawSizes());
  const measures: [string, string][] = [["fct", say("fct")], ["slowdown", say("slowdown")]];
  const groups = data.groups.map(({ name }, index): [string, string] => [String(index), name === null ? say("sizes.all") : name || "–"]);
  const controls = html(
    "div",
    { class: "controls" },
    choice(say("completion.measure"), measures, state.measure, (value) => ((state.measure = value as Measure), all())),
    ...(groups.length > 1 ? [chooser(say("completion.class"), groups, String(state.group), (value) => ((state.group = Number(value)), draw()))] : []),
  );
  const percentiles = (["mean", ...NAMES] as const).map((name): [string, string] => [name, spoken(name)]);
  const statistic = html("div", { class: "controls" }, choice(say("completion.statistic"), percentiles, state.percentile, (value) => ((state.percentile = value as keyof Percentiles), drawSizes())));
  all();
  const figure = html("figure", {}, title, rows, heights, details(say("numbers"), numbers));
  // With few sizes, the traffic classes are more informative.
  const several = data.sizes.length >= 4;
  const bySize = several ? [html("figure", { class: "later" }, sizesTitle, statistic, sizes.element, details(say("completion.numbers"), sizeNumbers))] : [];
  const classes = data.groups.length - 1;
  const hidden = data.hidden ? [say("completion.hidden", { shown: count(classes), all: count(classes + data.hidden) })] : [];
  return [lead, controls, figure, ...bySize, html("p", { class: "note" }, sentences([...hidden, say("completion.note")])), ...alikeNote(report)];
}

function distribution(grid: Completion["cdf"]["fct"], group: Completion["groups"][number], shown: Shown[], show: Show): HTMLElement[] {
  // Use fewer bars for few flows.
  const bars = Math.min(Math.max(2 * Math.sqrt(Math.max(...grid.flows)), 16), BARS);
  const step = Math.max(Math.floor(grid.x.length / bars), 1);
  const [low, high] = [grid.x[0], grid.x[grid.x.length - 1]];
  const at = (value: number): number => Math.log(value / low) / (Math.log(high / low) || 1);
  const shares = shown.map(({ index }) => {
    const flows = Math.max(grid.flows[index], 1);
    return Array.from({ length: Math.ceil(grid.x.length / step) }, (_, bar) => (grid.below[index][Math.min((bar + 1) * step, grid.x.length) - 1] - (bar ? grid.below[index][bar * step - 1] : 0)) / flows);
  });
  // Heights are square roots, so that rare times are visible next to frequent ones.
  const most = Math.sqrt(Math.max(...shares.flat(), 1e-9));
  const measure = show === time ? "fct" : "slowdown";
  const scale = { low, high, log: true };
  const rows = shown.flatMap((design, row) => {
    const of = group.percentiles[design.index][measure];
    const width = 1000 / shares[row].length;
    const tops = shares[row].map((share, bar) => `H${(bar * width).toFixed(1)}V${(100 - (96 * Math.sqrt(share)) / most).toFixed(1)}`);
    const drawing = svg("svg", { viewBox: "0 0 1000 100", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("path", { class: "hill", d: `M0 100${tops.join("")}H1000V100Z` }));
    const plot = html("div", { class: "hills" }, drawing);
    for (const tick of ticks(scale, TICKS)) plot.append(upright("tick", at(tick)));
    const known = NAMES.flatMap((name) => (of[name] === null ? [] : [{ name, value: of[name]! }]));
    const lanes: number[] = [];
    for (const { name, value } of known) {
      const share = at(value);
      plot.append(upright("percentile", share));
      // Labels that would overlap are put into two lines.
      const lane = lanes.length && share - lanes[0] < 0.115 ? (lanes[1] !== undefined && share - lanes[1] < 0.115 ? -1 : 1) : 0;
      if (lane < 0) continue;
      lanes[lane] = share;
      const text = html("span", { class: `of-percentile lane-${lane}${share > 0.9 ? " r" : share < 0.05 ? " l" : ""}` }, html("b", {}, spoken(name)), ` ${show(value)}`);
      text.style.setProperty("--x", `${100 * share}%`);
      plot.append(text);
    }
    plot.style.setProperty("--c", design.colour);
    const [done, left] = [group.flows[design.index], group.unfinished[design.index]];
    const flows = html("small", {}, left ? say("completion.flows.of", { count: count(done), all: count(done + left) }) : counted("completion.flows", done, count(done)));
    const name = html("div", { class: "curve-name" }, label(design), flows);
    const line = html("p", { class: "phone percentiles" }, known.map(({ name, value }) => `${spoken(name)} ${show(value)}`).join(" · "));
    return [name, html("div", {}, plot, line)];
  });
  return [...rows, html("span"), axis(scale, show, TICKS)];
}

function upright(kind: string, share: number): HTMLElement {
  const line = html("i", { class: kind, "aria-hidden": "true" });
  line.style.setProperty("--x", `${100 * share}%`);
  return line;
}
