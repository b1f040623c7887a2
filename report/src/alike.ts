// Designs as the figures show them: those that give the same result with every seed are one.
import type { Report } from "./data";
import { html } from "./dom";
import { language, list, say, sentences } from "./words";

export interface Shown {
  // Place of the first of them, whose data is shown.
  index: number;
  // All their names, and the one where there is little room.
  name: string;
  short: string;
  // As a value of a style.
  colour: string;
}

// From the ninth on designs are grey.
export const colourOf = (report: Report, index: number): string => `var(--series-${Math.min(report.designs[index].colour, 8)})`;

export function distinct(report: Report): Shown[] {
  return report.designs.flatMap((design, index) => {
    if (report.alike[index].as !== index) return [];
    const others = report.designs.flatMap((other, place) => (place !== index && report.alike[place].as === index ? [other.name] : []));
    return [{ index, name: [design.name, ...others].join(" = "), short: others.length ? `${design.name} *` : design.name, colour: colourOf(report, index) }];
  });
}

// Which designs are one, and why; nothing where all differ.
export function alikeNote(report: Report): HTMLElement[] {
  const said = report.alike.flatMap(({ as, why }, index) => (why ? [say("alike.note", { design: report.designs[index].name, other: report.designs[as].name, why: why[language()] })] : []));
  return said.length ? [html("p", { class: "note" }, `* ${sentences(said)}`)] : [];
}

// A coloured dot and the name of a design.
export function label(shown: Shown): HTMLElement {
  const dot = html("i", { class: "sw", "aria-hidden": "true" });
  const made = html("span", { class: "sd", title: shown.name }, dot, shown.short);
  made.style.setProperty("--c", shown.colour);
  return made;
}

export const names = (shown: Shown[]): string => list(shown.map(({ name }) => name));
