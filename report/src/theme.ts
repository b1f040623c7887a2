// Light, dark, or as the system says; always light on paper.
import { quiet } from "./dom";
import { say } from "./words";

let listeners: (() => void)[] = [];
// Colours of the style sheet as they are now.
const colours = new Map<string, string>();
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
  colours.clear();
  for (const redraw of listeners) redraw();
}

// What was drawn is gone.
export function forget(): void {
  listeners = [];
}

export function isPrinting(): boolean {
  return printing;
}

// A colour of the style sheet.
export function colour(name: string): string {
  const known = colours.get(name);
  if (known !== undefined) return known;
  const found = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  colours.set(name, found);
  return found;
}

// Designs whose results are the same share a colour; from the ninth on designs are grey. Lines differ in their dashes too, so that no colour has to be told from another.
let palette: number[] = [];
export const designColours = (of: number[]): void => void (palette = of);
export const seriesColour = (index: number): string => colour(`series-${Math.min(palette[index] ?? index, 8)}`);
export const DASHES: number[][] = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 2], [1, 2], [12, 4, 4, 4], [3, 6]];

export function followSystem(): void {
  system.addEventListener("change", apply);
  addEventListener("beforeprint", () => ((printing = true), apply()));
  addEventListener("afterprint", () => ((printing = false), apply()));
  apply();
}

export function themeChoice(): HTMLElement {
  const options: [string, string][] = [["auto", say("theme.auto")], ["light", say("theme.light")], ["dark", say("theme.dark")]];
  return quiet(say("theme.colours"), options, chosen, (value) => ((chosen = value), apply()));
}
