// Colour theme: light, dark, or that of the system. Prints are always light.
import { headerChoice } from "./dom";
import { say } from "./words";

let listeners: (() => void)[] = [];
// Current colours of the style sheet.
const colours = new Map<string, string>();
const system = matchMedia("(prefers-color-scheme: dark)");
let chosen = "auto";
let printing = false;

export function isDark(): boolean {
  return !printing && (chosen === "dark" || (chosen === "auto" && system.matches));
}

// Registers a function that is called whenever colours or sizes change.
export function onTheme(redraw: () => void): void {
  listeners.push(redraw);
}

function apply(): void {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  colours.clear();
  for (const redraw of listeners) redraw();
}

// Removes all registered functions, because their drawings no longer exist.
export function forget(): void {
  listeners = [];
}

export function isPrinting(): boolean {
  return printing;
}

// Returns a colour of the style sheet.
export function colour(name: string): string {
  const known = colours.get(name);
  if (known !== undefined) return known;
  const found = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  colours.set(name, found);
  return found;
}

export function followSystem(): void {
  system.addEventListener("change", apply);
  addEventListener("beforeprint", () => ((printing = true), apply()));
  addEventListener("afterprint", () => ((printing = false), apply()));
  apply();
}

export function themeChoice(): HTMLElement {
  const options: [string, string][] = [["auto", say("theme.auto")], ["light", say("theme.light")], ["dark", say("theme.dark")]];
  return headerChoice(say("theme.colours"), options, chosen, (value) => ((chosen = value), apply()));
}
