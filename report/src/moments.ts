// Port activity in each frame of the replay, decoded from the characters that
// python/afflux/report/replay.py writes.
import type { Counter, Run, RunView } from "./data";

const ZERO = 0x100;
const STEPS = 1700;

export class Moments {
  readonly frames: number;
  // Duration of a frame in ns. If ports were not recorded, there is a single endless frame for the
  // whole run.
  readonly frameNs: number;

  // End of this view in ns. The whole run may be longer.
  readonly end: number;
  private readonly view: RunView | null;

  constructor(private readonly run: Run, whole: boolean) {
    const views = run.ports?.views;
    this.view = views ? ((whole && views[1]) || views[0]) : null;
    this.frames = this.view?.frames ?? 1;
    this.frameNs = this.view?.frame_ns ?? run.end;
    this.end = views && this.view === views[0] && views[1] ? this.view.end_ns : run.end;
  }

  // Directions with recorded data.
  get directions(): number[] {
    return Object.keys(this.view?.series ?? {}).map(Number);
  }

  recorded(direction: number): boolean {
    return this.view?.series[direction] !== undefined;
  }

  // Returns the rate as a share of the link's rate. Null: not recorded.
  used(direction: number, frame: number): number | null {
    if (!this.view) return this.run.means[direction] / 1000;
    const series = this.view.series[direction];
    return series ? step(series.u, frame) / 1000 : null;
  }

  // Returns the longest queue in the frame in bytes, to 1 %. Null: not recorded.
  queue(direction: number, frame: number): number | null {
    const series = this.view?.series[direction];
    return series && this.view ? value(step(series.q, frame), this.view.most.q) : null;
  }

  counted(direction: number, counter: Counter, frame: number): number {
    const text = this.view?.series[direction]?.[counter];
    return text && this.view ? Math.round(value(step(text, frame), this.view.most[counter])) : 0;
  }

  total(direction: number, counter: Counter): number {
    return this.run.ports?.totals[counter][direction] ?? 0;
  }

  mean(direction: number): number {
    return this.run.means[direction] / 1000;
  }

  get longest(): number {
    return this.view?.most.q ?? 0;
  }
}

function step(text: string | undefined, frame: number): number {
  return text && frame < text.length ? text.charCodeAt(frame) - ZERO : 0;
}

function value(of: number, most: number): number {
  return of === 0 ? 0 : Math.exp(((of - 1) / (STEPS - 2)) * Math.log(Math.max(most, 2)));
}
