// Where the time went: the parts of completion times, and what makes the difference between designs.
import type { Design, Split, SplitChange } from "./data";
import { choice, chooser, details, html, table } from "./dom";
import { count, percent, signed, time } from "./format";
import { type Key, language, list, say } from "./words";

type Group = Split["groups"][number];

// What stays when the language is changed.
const state = { group: 0, weight: "time" as "time" | "flow" };

const word = (label: string): string => say(`part.${label}` as Key);
const groupName = (group: Group): string => (group.by === "all" ? say("sizes.all") : say(`split.${group.by}`, { name: group.name }));

// Parts side by side, as long as their shares; together as long as `length`, a share of the room.
export function stack(labels: string[], shares: number[], length = 1): HTMLElement {
  const bar = html("div", { class: "stack", role: "img", "aria-label": list(labels.flatMap((label, at) => (shares[at] > 0 ? [`${word(label)} ${percent(shares[at])}`] : []))) });
  bar.style.width = `${100 * length}%`;
  shares.forEach((share, at) => {
    if (share <= 0) return;
    const piece = html("span", { class: `piece part-${labels[at]}`, title: `${word(labels[at])} ${percent(share)}` });
    piece.style.flexGrow = String(share);
    const rounded = percent(Math.round(100 * share) / 100);
    if (share * length > 0.13) piece.append(`${word(labels[at])} ${rounded}`);
    else if (share * length > 0.045) piece.append(rounded);
    bar.append(piece);
  });
  return bar;
}

export function split(data: Split, designs: Design[]): HTMLElement[] {
  const bars = html("div", { class: "bars" });
  const legend = html("p", { class: "readout" });
  const note = html("p", { class: "note" });
  const numbers = html("div");
  const difference = html("div");
  const draw = (): void => {
    const group = data.groups[state.group];
    const byTime = state.weight === "time";
    // Of the mean time, or of the mean flow.
    const shares = group.designs.map((one) => (!one ? [] : byTime ? one.parts_ns.map((ns) => ns / Math.max(one.mean_fct_ns, 1)) : one.shares));
    const longest = Math.max(...group.designs.map((one) => one?.mean_fct_ns ?? 0), 1);
    const rows = group.designs.map((one, place) => {
      const name = html("span", { class: "name" }, designs[place].name);
      if (!one) return html("div", { class: "bar-row" }, name, html("span", { class: "note" }, say("split.noFlows")));
      const bar = stack(data.labels, shares[place], byTime ? one.mean_fct_ns / longest : 1);
      return html("div", { class: "bar-row" }, name, html("div", { class: "track" }, bar), html("span", { class: "sum" }, say("split.mean", { time: time(one.mean_fct_ns) })));
    });
    bars.replaceChildren(...rows);
    const used = data.labels.filter((_, at) => shares.some((of) => of[at] > 0));
    legend.replaceChildren(...used.map((label) => html("span", { class: "entry" }, html("span", { class: `swatch part-${label}` }), word(label))));
    note.textContent = say(byTime ? "split.note" : "split.noteFlow");
    const cells = data.labels.map((label, at) => [
      word(label),
      ...group.designs.flatMap((one, place) => (byTime ? [one ? time(one.parts_ns[at]) : "–", one ? percent(shares[place][at]) : "–"] : [one ? percent(shares[place][at]) : "–"])),
    ]);
    const each = (show: (one: NonNullable<Group["designs"][number]>) => string): string[] =>
      group.designs.flatMap((one) => [...(one ? [show(one)] : ["–"]), ...(byTime ? [""] : [])]);
    cells.push(
      [say("split.meanFct"), ...each((one) => time(one.mean_fct_ns))],
      [say("flows"), ...each((one) => count(one.flows))],
      [say("split.unfinished"), ...each((one) => count(one.unfinished))],
    );
    const head = [say("split.part"), ...designs.flatMap((design) => (byTime ? [design.name, say("split.share")] : [design.name]))];
    numbers.replaceChildren(table(say(byTime ? "split.caption" : "split.captionFlow", { group: groupName(group) }), head, cells));
    difference.replaceChildren(...changes(data, group, designs));
  };
  const groups = data.groups.map((group, index): [string, string] => [String(index), groupName(group)]);
  const which = groups.length > 1 ? [chooser(say("split.flows"), groups, String(state.group), (value) => ((state.group = Number(value)), draw()))] : [];
  const weights: [string, string][] = [["time", say("split.byTime")], ["flow", say("split.byFlow")]];
  const weight = choice(say("split.weigh"), weights, state.weight, (value) => ((state.weight = value as typeof state.weight), draw()));
  draw();
  return [html("div", { class: "controls" }, ...which, weight), bars, legend, details(say("numbers"), numbers), note, difference];
}

// What makes the difference to the first design: less to the left, more to the right. Each design has a scale of its own, or small differences would
// be lost beside large ones.
function changes(data: Split, group: Group, designs: Design[]): HTMLElement[] {
  const shown = group.changes.flatMap((change, place) => (change ? [{ change, place }] : []));
  if (!shown.length) return [];
  const baseline = designs[0].name;
  const total = ({ after_ns, before_ns }: SplitChange): number => after_ns - before_ns;
  const labels = data.labels.flatMap((label, at) => (shown.some(({ change }) => change.parts_ns[at]) ? [{ label, at }] : []));
  const bar = (ns: number, paint: string, [low, high]: [number, number]): HTMLElement => {
    const range = Math.max(high - low, 1);
    const piece = html("span", { class: `change ${paint}` });
    piece.style.left = `${(100 * (Math.min(ns, 0) - low)) / range}%`;
    piece.style.width = `${(100 * Math.abs(ns)) / range}%`;
    const zero = html("span", { class: "zero" });
    zero.style.left = `${(-100 * low) / range}%`;
    return html("div", { class: "diverging", "aria-hidden": "true" }, ...(ns ? [piece] : []), zero);
  };
  const row = (name: string, ns: number, paint: string, scale: [number, number]): HTMLElement =>
    html("div", { class: `bar-row ${paint === "total" ? "total-row" : ""}` }, html("span", { class: "name" }, name), bar(ns, paint, scale), html("span", { class: "sum" }, signed(ns)));
  const blocks = shown.map(({ change, place }) => {
    // What is said is of all flows.
    const said = group.by === "all" ? data.said[place]?.[language()] : ["", say("split.ofFlows", { count: count(change.flows), group: groupName(group) })];
    const values = [...change.parts_ns, total(change), 0];
    const scale: [number, number] = [Math.min(...values), Math.max(...values)];
    const rows = [...labels.map(({ label, at }) => row(word(label), change.parts_ns[at], `part-${label}`, scale)), row(say("split.sum"), total(change), "total", scale)];
    const name = html("h4", {}, `${designs[place].name} − ${baseline}`);
    return html("figure", { class: "difference" }, name, ...(said?.[0] ? [html("p", {}, said[0])] : []), html("div", { class: "bars slim" }, ...rows), html("p", { class: "note" }, said?.[1] ?? ""));
  });
  const head = [say("split.part"), ...shown.map(({ place }) => designs[place].name)];
  const cells = data.labels.map((label, at) => [word(label), ...shown.map(({ change }) => signed(change.parts_ns[at]))]);
  cells.push([say("split.sum"), ...shown.map(({ change }) => signed(total(change)))], [say("flows"), ...shown.map(({ change }) => count(change.flows))]);
  const numbers = table(say("split.changeCaption", { baseline, group: groupName(group) }), head, cells);
  return [html("h3", {}, say("split.changeTitle", { baseline })), ...blocks, details(say("numbers"), numbers)];
}
