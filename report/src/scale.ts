// Colours of rates and queues: one hue each, from light to dark, so that lightness alone shows the
// value. Based on ColorBrewer's YlGnBu and YlOrBr, which are safe for colour-blind readers.
import { isDark } from "./theme";

export type Shown = "rate" | "queue";

const STOPS: Record<Shown, { light: string[]; dark: string[] }> = {
  rate: {
    light: ["#d9dee4", "#b9e0c2", "#7fcdbb", "#41b6c4", "#1d91c0", "#225ea8", "#0c2c84"],
    dark: ["#333c47", "#274f82", "#2874ad", "#35a0c0", "#6fcbc1", "#c4ecb4", "#ffffd9"],
  },
  queue: {
    light: ["#dedbd5", "#fee08b", "#fec44f", "#fe9929", "#e0640f", "#a63a04", "#5c1f00"],
    dark: ["#3a3732", "#6b3f14", "#a8560c", "#dd7c16", "#fdae4a", "#fee08b", "#fffbe0"],
  },
};

// Queues shorter than a small frame count as empty.
export const SHORTEST = 500;

// Returns the position on the scale from 0 to 1. Queues use a logarithmic scale up to the longest
// queue of the run.
export function share(shown: Shown, value: number, longest: number): number {
  if (shown === "rate") return Math.min(value, 1);
  return value <= SHORTEST ? 0 : Math.min(Math.log(value / SHORTEST) / Math.log(Math.max(longest / SHORTEST, 2)), 1);
}

export function valueAt(shown: Shown, at: number, longest: number): number {
  return shown === "rate" ? at : at === 0 ? 0 : SHORTEST * Math.max(longest / SHORTEST, 2) ** at;
}

const SHADES = 48;
const made = new Map<string, string[]>();

export function shade(shown: Shown, at: number): string {
  const key = `${shown} ${isDark()}`;
  let shades = made.get(key);
  if (!shades) {
    const stops = STOPS[shown][isDark() ? "dark" : "light"];
    shades = Array.from({ length: SHADES }, (_, index) => mixed(stops, index / (SHADES - 1)));
    made.set(key, shades);
  }
  return shades[Math.round(Math.min(Math.max(at, 0), 1) * (SHADES - 1))];
}

function mixed(stops: string[], at: number): string {
  const place = at * (stops.length - 1);
  const low = Math.min(Math.floor(place), stops.length - 2);
  const channel = (text: string, from: number): number => Number.parseInt(text.slice(from, from + 2), 16);
  const parts = [1, 3, 5].map((from) => Math.round(channel(stops[low], from) + (channel(stops[low + 1], from) - channel(stops[low], from)) * (place - low)));
  return `rgb(${parts.join(" ")})`;
}
