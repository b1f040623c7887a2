// What ports did in each frame of the replay: read from the characters that python/afflux/report/replay.py writes.
import type { Counter, Run } from "./data";

const ZERO = 0x100;
const STEPS = 1700;

export class Moments {
  readonly frames: number;
  // Of the whole run, in a frame without end, where ports were not recorded.
  readonly frameNs: number;

  constructor(private readonly run: Run) {
    this.frames = run.ports?.frames ?? 1;
    this.frameNs = run.ports?.frame_ns ?? run.end;
  }

  recorded(direction: number): boolean {
    return this.run.ports?.series[direction] !== undefined;
  }

  // The rate as a share of the link's. Null: not recorded.
  used(direction: number, frame: number): number | null {
    if (!this.run.ports) return this.run.means[direction] / 1000;
    const series = this.run.ports.series[direction];
    return series ? step(series.u, frame) / 1000 : null;
  }

  // Bytes: the longest in the frame, to 1 %. Null: not recorded.
  queue(direction: number, frame: number): number | null {
    const series = this.run.ports?.series[direction];
    return series && this.run.ports ? value(step(series.q, frame), this.run.ports.most.q) : null;
  }

  counted(direction: number, counter: Counter, frame: number): number {
    const ports = this.run.ports;
    const text = ports?.series[direction]?.[counter];
    return text && ports ? Math.round(value(step(text, frame), ports.most[counter])) : 0;
  }

  total(direction: number, counter: Counter): number {
    return this.run.ports?.totals[counter][direction] ?? 0;
  }

  mean(direction: number): number {
    return this.run.means[direction] / 1000;
  }

  get longest(): number {
    return this.run.ports?.most.q ?? 0;
  }
}

function step(text: string | undefined, frame: number): number {
  return text && frame < text.length ? text.charCodeAt(frame) - ZERO : 0;
}

function value(of: number, most: number): number {
  return of === 0 ? 0 : Math.exp(((of - 1) / (STEPS - 2)) * Math.log(Math.max(most, 2)));
}
