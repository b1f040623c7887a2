// Split of times and of differences: jobs by phase, flows by cause.
import { alikeNote, distinct } from "./alike";
import { breakdown, farthest } from "./breakdown";
import type { Report, Split } from "./data";
import { chooser, html } from "./dom";
import { phaseColour } from "./phases";
import { count } from "./format";
import { type Key, counted, language, list, named, say, sentences } from "./words";

type Group = Split["groups"][number];

// State that is kept when the language changes.
const state = { group: 0, other: null as number | null };

const groupName = (group: Group): string => (group.by === "all" ? say("sizes.all") : say(`split.${group.by}`, { name: group.name }));
export const word = (part: string): string => say(`part.${part}` as Key);

// Returns the parts of one flow side by side, with lengths proportional to their shares.
export function stack(labels: string[], shares: number[], text: (index: number) => string): HTMLElement {
  const bar = html("div", { class: "stack", role: "img", "aria-label": list(labels.flatMap((label, at) => (shares[at] > 0 ? [`${word(label)} ${text(at)}`] : []))) });
  bar.style.setProperty("--w", "100%");
  shares.forEach((share, at) => {
    if (share <= 0) return;
    const piece = html("span", { title: `${word(labels[at])} ${text(at)}` });
    piece.style.setProperty("--f", `${100 * share}%`);
    piece.style.setProperty("--p", `var(--cause-${labels[at]})`);
    if (share > 0.22) piece.append(`${word(labels[at])} ${text(at)}`);
    bar.append(piece);
  });
  return bar;
}

export function split(report: Report): HTMLElement[] {
  const { phases, split: causes } = report;
  const shown = distinct(report);
  const others = shown.filter(({ index }) => phases?.changes[index] || causes?.groups[0].changes[index]);
  if (!others.some(({ index }) => index === state.other)) state.other = farthest(phases, shown) ?? farthest(causes?.groups[0] ?? null, shown);
  const box = html("div");
  const lead = html("p", { class: "lead" });
  const draw = (): void => {
    const place = state.other ?? 0;
    const group = causes?.groups[state.group];
    const said = [...(phases?.said[place] ? [phases.said[place][language()]] : []), ...(group?.said[place] ? [group.said[place][language()]] : [])];
    lead.textContent = sentences(said.filter((text) => text));
    const made: HTMLElement[] = [];
    if (phases) {
      made.push(
        breakdown(phases, report, state.other, {
          title: (unit) => say(phases.several ? "phases.titleMean" : "phases.title", { unit }),
          fall: (unit, from, to) => say("fall.title", { unit, from, to }),
          part: (part) => named("phase", phases.labels[part]),
          colour: (part) => phaseColour(phases.labels[part], part),
          notes: [say("phases.note")],
        }),
      );
    }
    if (causes && group) {
      const unfinished = group.unfinished.some((flows) => flows > 0);
      const notes = [say("split.note")];
      const equal = shown.every(({ index }) => group.unfinished[index] === group.unfinished[0]);
      if (unfinished && equal) notes.push(counted("split.leftEach", group.unfinished[0], count(group.unfinished[0])));
      else if (unfinished) notes.push(say("split.leftOut", { designs: list(shown.map(({ index, name }) => say("split.leftOf", { design: name, count: count(group.unfinished[index]) }))) }));
      made.push(
        breakdown({ ...group, labels: causes.labels }, report, state.other, {
          title: (unit) => say(group.by === "all" ? "split.causes" : "split.causesOf", { unit, group: groupName(group) }),
          fall: (unit, from, to) => say("fall.flows", { unit, from, to }),
          part: (part) => word(causes.labels[part]),
          term: (part) => `part_${causes.labels[part]}`,
          colour: (part) => `var(--cause-${causes.labels[part]})`,
          notes: [sentences(notes)],
        }),
      );
    }
    box.replaceChildren(...made);
  };
  const groups = causes?.groups.map((group, index): [string, string] => [String(index), groupName(group)]) ?? [];
  const which = groups.length > 1 ? [chooser(say("split.flows"), groups, String(state.group), (value) => ((state.group = Number(value)), draw()))] : [];
  const against = others.map(({ index, name }): [string, string] => [String(index), name]);
  const other = against.length > 1 ? [chooser(say("split.against", { baseline: report.designs[0].name }), against, String(state.other), (value) => ((state.other = Number(value)), draw()))] : [];
  draw();
  return [lead, ...(other.length + which.length ? [html("div", { class: "controls" }, ...other, ...which)] : []), box, ...(causes?.without ? [html("p", { class: "note" }, causes.without[language()])] : []), ...alikeNote(report)];
}
