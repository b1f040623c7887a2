// Period of a run that is shown. Stragglers would leave most of a time axis blank, so the first
// view ends when most activity has ended: see python/afflux/report/busy.py.
import { choice } from "./dom";
import { percent, time } from "./format";
import { say } from "./words";

export interface Extent {
  // True if the whole run is shown.
  whole: boolean;
}

// Returns the choice between the two periods, if they differ.
export function extentChoice(extent: Extent, cut: boolean, changed: () => void): HTMLElement[] {
  if (!cut) return [];
  const options: [string, string][] = [["busy", say("extent.busy")], ["whole", say("extent.whole")]];
  return [choice(say("extent.time"), options, extent.whole ? "whole" : "busy", (value) => ((extent.whole = value === "whole"), changed()))];
}

// Returns a note on the end of the shown period and its rule, if that is not the whole run.
export const extentNote = (extent: Extent, until: number | null, end: number, share: number | null): string[] =>
  until === null || extent.whole ? [] : [say(share === null ? "extent.bars" : "extent.note", { until: time(until), end: time(end), share: percent(share ?? 1) })];
