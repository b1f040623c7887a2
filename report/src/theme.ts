// Light, dark, or as the system says; always light on paper.
import { choice } from "./dom";

const listeners: (() => void)[] = [];
const system = matchMedia("(prefers-color-scheme: dark)");
let chosen = "auto";
let printing = false;

export function isDark(): boolean {
  return !printing && (chosen === "dark" || (chosen === "auto" && system.matches));
}

// Calls back whenever colours or sizes are to be taken anew.
export function onTheme(redraw: () => void): void {
  listeners.push(redraw);
}

function apply(): void {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  for (const redraw of listeners) redraw();
}

export function isPrinting(): boolean {
  return printing;
}

// A colour of the style sheet.
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// One per design or phase. Lines differ in their dashes too, so that no colour has to be told from another.
export const seriesColour = (index: number): string => colour(`series-${index % 8}`);
export const DASHES: number[][] = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 2], [1, 2], [12, 4, 4, 4], [3, 6]];

export function themeChoice(): HTMLElement {
  system.addEventListener("change", apply);
  addEventListener("beforeprint", () => ((printing = true), apply()));
  addEventListener("afterprint", () => ((printing = false), apply()));
  apply();
  const options: [string, string][] = [["auto", "Auto"], ["light", "Light"], ["dark", "Dark"]];
  return choice("Colours", options, chosen, (value) => ((chosen = value), apply()));
}
