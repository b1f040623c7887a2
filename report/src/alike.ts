// Designs in figures: designs with the same results for every seed are shown as one.
import type { Report } from "./data";
import { html } from "./dom";
import { language, list, say, sentences } from "./words";

export interface Shown {
  // Index of the first of these designs, whose data is shown.
  index: number;
  // All their names, and the short name for small spaces.
  name: string;
  short: string;
  // CSS value of the colour.
  colour: string;
}

// From the ninth design on, designs are grey.
export const colourOf = (report: Report, index: number): string => `var(--series-${Math.min(report.designs[index].colour, 8)})`;

export function distinct(report: Report): Shown[] {
  return report.designs.flatMap((design, index) => {
    if (report.alike[index].as !== index) return [];
    const others = report.designs.flatMap((other, place) => (place !== index && report.alike[place].as === index ? [other.name] : []));
    return [{ index, name: [design.name, ...others].join(" = "), short: others.length ? `${design.name} *` : design.name, colour: colourOf(report, index) }];
  });
}

// Returns a note on which designs are equal and why. Empty if all differ.
export function alikeNote(report: Report): HTMLElement[] {
  const said = report.alike.flatMap(({ as, why }, index) => (why ? [say("alike.note", { design: report.designs[index].name, other: report.designs[as].name, why: why[language()] })] : []));
  return said.length ? [html("p", { class: "note" }, `* ${sentences(said)}`)] : [];
}

// Returns a coloured dot and the name of a design.
export function label(shown: Shown): HTMLElement {
  const dot = html("i", { class: "sw", "aria-hidden": "true" });
  const made = html("span", { class: "sd", title: shown.name }, dot, shown.short);
  made.style.setProperty("--c", shown.colour);
  return made;
}

export const names = (shown: Shown[]): string => list(shown.map(({ name }) => name));
