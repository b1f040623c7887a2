// Split of times into parts: a bar per design, and next to it the parts of the difference from the
// first design, largest first.
import type { Breakdown, Report } from "./data";
import { type Shown, colourOf, distinct, label } from "./alike";
import { details, html, table } from "./dom";
import { Unit } from "./numbers";
import { term } from "./terms";
import { list, say } from "./words";

export interface Words {
  // Titles of the two figures, into which the unit is inserted.
  title: (unit: string) => string;
  fall: (unit: string, from: string, to: string) => string;
  part: (index: number) => string;
  // Key of a part's definition on the page.
  term?: (index: number) => string;
  // Colour of the style sheet.
  colour: (index: number) => string;
  notes: string[];
}

// Estimated width of text in pixels: an average letter, and the space around the text.
const LETTER = 7;
// Approximate width of bars on a screen in pixels.
const WIDTH = 470;

export const wide = (text: string): number => [...text].reduce((sum, letter) => sum + (letter > "\u2e80" ? 2 : 1), 0) * LETTER;

const named = (words: Words, part: number): Node | string => (words.term ? term(words.term(part), words.part(part)) : words.part(part));
const total = (parts: number[]): number => parts.reduce((sum, ns) => sum + ns, 0);

export function breakdown(data: Breakdown, report: Report, other: number | null, words: Words): HTMLElement {
  const shown = distinct(report);
  const unit = new Unit(Math.max(...data.designs.map((parts) => (parts ? total(parts) : 0)), 1));
  const numbers = numbersOf(data, report, unit, words);
  const bars = html("figure", {}, html("h3", {}, words.title(unit.name)), stacks(data, shown, unit, words), ...words.notes.map((note) => html("p", { class: "note" }, note)), numbers);
  const change = other === null ? null : data.changes[other];
  if (!change || other === null) return html("div", { class: "pair single" }, bars);
  return html("div", { class: "pair" }, bars, fall(data, change, report, other, words));
}

function stacks(data: Breakdown, shown: Shown[], unit: Unit, words: Words): HTMLElement {
  const longest = Math.max(...data.designs.map((parts) => (parts ? total(parts) : 0)), 1);
  const rows: HTMLElement[] = [];
  const said = new Set<number>();
  const first = shown.find(({ index }) => data.designs[index]);
  for (const design of shown) {
    const parts = data.designs[design.index];
    if (!parts) {
      rows.push(label(design), html("span", { class: "note" }, say("split.noFlows")));
      continue;
    }
    const whole = Math.max(total(parts), 1);
    const share = whole / longest;
    if (design === first) rows.push(html("span", { class: "heads-gap" }), heads(parts, share, words, said));
    const bar = html("div", { class: "stack", role: "img", "aria-label": list(parts.flatMap((ns, part) => (ns > 0 ? [`${words.part(part)} ${unit.full(ns)}`] : []))) });
    bar.style.setProperty("--w", `${100 * share}%`);
    parts.forEach((ns, part) => {
      if (ns <= 0) return;
      const piece = html("span", { title: `${words.part(part)} ${unit.full(ns)}` });
      piece.style.setProperty("--f", `${(100 * ns) / whole}%`);
      piece.style.setProperty("--p", words.colour(part));
      if ((ns / whole) * share > (wide(unit.bare(ns)) + 6) / WIDTH) piece.append(unit.bare(ns));
      bar.append(piece);
    });
    bar.append(html("em", {}, unit.full(whole)));
    rows.push(label(design), html("div", { class: "room" }, bar));
  }
  const used = data.labels.flatMap((_, part) => (data.designs.some((parts) => parts && parts[part] > 0) ? [part] : []));
  const key = html("div", { class: "parts" });
  for (const part of used) {
    const entry = html("span", { class: said.has(part) ? "said" : "" }, named(words, part));
    entry.style.setProperty("--p", words.colour(part));
    key.append(entry);
  }
  return html("div", {}, html("div", { class: "stacks" }, ...rows), key);
}

// Returns the names above the first bar, for parts that are wide enough.
function heads(parts: number[], share: number, words: Words, said: Set<number>): HTMLElement {
  const whole = Math.max(total(parts), 1);
  const bar = html("div", { class: "stack heads" });
  bar.style.setProperty("--w", `${100 * share}%`);
  parts.forEach((ns, part) => {
    if (ns <= 0) return;
    const piece = html("span");
    piece.style.setProperty("--f", `${(100 * ns) / whole}%`);
    const space = (ns / whole) * share * WIDTH;
    if (space > wide(words.part(part)) + 10) {
      piece.style.setProperty("--p", words.colour(part));
      piece.className = "named";
      piece.append(named(words, part));
      said.add(part);
    }
    bar.append(piece);
  });
  return html("div", { class: "room" }, bar);
}

function fall(data: Breakdown, change: NonNullable<Breakdown["changes"][number]>, report: Report, other: number, words: Words): HTMLElement {
  const [from, to] = [report.designs[0].name, report.designs[other].name];
  const after = change.before + change.total[0];
  const unit = new Unit(Math.max(change.before, after, 1), Math.max(...change.parts.map(([by]) => Math.abs(by)), 1));
  // Parts that round to zero are left out.
  const order = data.labels.map((_, part) => part).filter((part) => change.parts[part].some((ns) => ns !== null && !unit.isNothing(ns))).sort((a, b) => Math.abs(change.parts[b][0]) - Math.abs(change.parts[a][0]));
  // If the difference is small compared with the whole, the axis does not begin at 0, and the ends
  // are lines instead of bars.
  const sums = order.reduce((found, part) => [...found, found[found.length - 1] + change.parts[part][0]], [change.before]);
  const [least, most] = [Math.min(...sums), Math.max(...sums)];
  const close = most - least < 0.08 * most;
  const margin = close ? Math.max(0.08 * (most - least), 1) : 0;
  const [low, high] = close ? [least - margin, most + margin] : [0, most];
  const share = (ns: number): number => (100 * (ns - low)) / (high - low || 1);
  // The ends have three digits, unless they are close to each other.
  const ends = close ? unit : new Unit(Math.max(change.before, after, 1));
  const rows: HTMLElement[] = [];
  const end = (name: string, ns: number, index: number, last: boolean): void => {
    const piece = html("i", { class: close ? "limit" : "" });
    piece.style.cssText = close ? `--x:${share(ns)}%;--w:0px;` : `--x:0%;--w:${share(ns)}%;`;
    piece.style.setProperty("--c", colourOf(report, index));
    const bar = html("span", { class: `bar${last ? " last" : ""}`, "aria-hidden": "true" }, piece);
    bar.style.setProperty("--k", `${share(ns)}%`);
    rows.push(html("span", { class: "total" }, name), bar, html("span", { class: "num total" }, ends.full(ns)));
  };
  end(from, change.before, 0, false);
  let at = change.before;
  let hatched = false;
  for (const part of order) {
    const [by, lower, upper] = change.parts[part];
    const next = at + by;
    const known = lower !== null && upper !== null;
    const open = known && lower <= 0 && upper >= 0;
    hatched ||= open;
    const piece = html("i", { class: open ? "open" : "" });
    piece.style.cssText = `--x:${share(Math.min(at, next))}%;--w:${share(Math.max(at, next)) - share(Math.min(at, next))}%;--c:var(--${by < 0 ? "good" : "bad"})`;
    const bar = html("span", { class: "bar", "aria-hidden": "true" }, piece);
    bar.style.setProperty("--k", `${share(next)}%`);
    const interval = known && !change.exact ? [html("small", {}, unit.interval(lower, upper))] : [];
    rows.push(html("span", {}, named(words, part)), bar, html("span", { class: "num" }, unit.signed(by), ...interval));
    at = next;
  }
  end(to, after, other, true);
  const notes = [say(change.exact ? "fall.exact" : change.parts.some(([, lower]) => lower !== null) ? (hatched ? "fall.hatched" : "fall.interval") : "fall.few", { count: change.pairs })];
  if (close) notes.push(say("fall.close", { low: unit.full(low), high: unit.full(high) }));
  return html("figure", {}, html("h3", {}, words.fall(unit.name, from, to)), html("div", { class: "fall" }, ...rows), html("p", { class: "note" }, notes.join(" ")));
}

function numbersOf(data: Breakdown, report: Report, unit: Unit, words: Words): HTMLElement {
  const cells = (of: (parts: number[]) => string): string[] => data.designs.map((parts) => (parts ? of(parts) : "–"));
  const rows = data.labels.flatMap((_, part) => (data.designs.some((parts) => parts?.[part]) ? [[words.part(part), ...cells((parts) => unit.bare(parts[part]))]] : []));
  rows.push([say("split.sum"), ...cells((parts) => unit.bare(total(parts)))]);
  return details(say("numbers"), table(words.title(unit.name), [say("split.part"), ...report.designs.map(({ name }) => name)], rows));
}

// Returns the design that is shown first next to the first one: the one with the largest
// difference.
export function farthest(data: Pick<Breakdown, "changes"> | null, shown: Shown[]): number | null {
  const found = shown.filter(({ index }) => data?.changes[index]);
  if (!found.length) return null;
  return found.reduce((one, two) => (Math.abs(data!.changes[two.index]!.total[0]) > Math.abs(data!.changes[one.index]!.total[0]) ? two : one)).index;
}
