// How much of a run is shown. Stragglers would leave most of a time axis blank, so at first it ends when most is over: see python/afflux/report/busy.py.
import { choice } from "./dom";
import { percent, time } from "./format";
import { say } from "./words";

export interface Extent {
  // The whole run is wanted.
  whole: boolean;
}

// The choice between the two, if there is one.
export function extentChoice(extent: Extent, cut: boolean, changed: () => void): HTMLElement[] {
  if (!cut) return [];
  const options: [string, string][] = [["busy", say("extent.busy")], ["whole", say("extent.whole")]];
  return [choice(say("extent.time"), options, extent.whole ? "whole" : "busy", (value) => ((extent.whole = value === "whole"), changed()))];
}

// Until when it is shown, and by what rule, where it is not the whole run.
export const extentNote = (extent: Extent, until: number | null, end: number, share: number | null): string[] =>
  until === null || extent.whole ? [] : [say(share === null ? "extent.bars" : "extent.note", { until: time(until), end: time(end), share: percent(share ?? 1) })];
