// Small multiples: one panel per series with a common time axis and scale. Curves are stretched
// SVG, and texts are HTML above it.
import { html, svg } from "./dom";
import type { Show } from "./format";
import { say } from "./words";

export interface Panel {
  name: string;
  colour: string;
  text: string;
  values: (number | null)[];
  // Lower edge of a band under the curve.
  low?: (number | null)[];
  // Position of the curve's end, and a text for it.
  end?: { x: number; text: string };
  // Text at the curve.
  label?: string;
  // Counts by position on the x axis, drawn as a strip below.
  events?: number[];
  eventsText?: string;
}

export interface Plot {
  x: number[];
  panels: Panel[];
  showX: Show;
  showY: Show;
  logX?: boolean;
  logY?: boolean;
  steps?: boolean;
  dots?: boolean;
  // Index of the panel that is drawn faintly behind all others.
  ghost?: number;
  // Name of the strip of events.
  events?: string;
  // Value that the axis must include.
  least?: number;
}

interface Scale {
  low: number;
  high: number;
  log: boolean;
}

const at = (scale: Scale, value: number): number => {
  const of = scale.log ? Math.log : (x: number): number => x;
  return (of(Math.max(value, scale.low)) - of(scale.low)) / (of(scale.high) - of(scale.low) || 1);
};
const place = (share: number): string => `${(100 * share).toFixed(2)}%`;

export class Multiples {
  readonly element = html("div", { class: "multi" });
  private plot: Plot | null = null;
  private cells: { box: HTMLElement; plot: HTMLElement; cursor: HTMLElement; readout: HTMLElement }[] = [];
  private x: Scale = { low: 0, high: 1, log: false };
  // Zoomed part of the axis. Null: the whole axis.
  private part: [number, number] | null = null;
  private cursor: number | null = null;

  show(plot: Plot): void {
    if (plot.x.length !== this.plot?.x.length) this.part = null;
    this.plot = plot;
    this.draw();
  }

  private draw(): void {
    const plot = this.plot!;
    const [first, last] = [plot.logX ? plot.x[0] : 0, plot.x[plot.x.length - 1] ?? 1];
    const [low, high] = this.part ?? [first, last];
    this.x = { low, high: high > low ? high : low + 1, log: plot.logX === true };
    const y = scaleOf(plot);
    this.cursor = null;
    this.element.dataset.columns = String(columns(plot.panels.length));
    this.cells = plot.panels.map((panel) => this.cell(plot, panel, y));
    this.element.replaceChildren(...this.cells.map(({ box }) => box));
  }

  private cell(plot: Plot, panel: Panel, y: Scale): { box: HTMLElement; plot: HTMLElement; cursor: HTMLElement; readout: HTMLElement } {
    const box = html("div", { class: `cell${panel.text ? "" : " bare"}` });
    box.style.setProperty("--c", panel.colour);
    const drawing = svg("svg", { viewBox: "0 0 1000 1000", preserveAspectRatio: "none", "aria-hidden": "true" });
    const area = html("div", { class: "plot", tabindex: 0, role: "img", "aria-label": say("panel.label", { name: panel.name, text: panel.text, values: this.said(plot, panel) }) }, drawing);
    for (const tick of ticks(y, y.log ? 6 : 4)) {
      const share = 1 - at(y, tick);
      drawing.append(svg("line", { class: "g", x1: 0, x2: 1000, y1: 1000 * share, y2: 1000 * share }));
      const text = html("span", { class: "y" }, plot.showY(tick));
      text.style.setProperty("--y", place(share));
      area.append(text);
    }
    const ghost = plot.ghost === undefined ? undefined : plot.panels[plot.ghost];
    if (ghost && ghost !== panel) {
      drawing.append(svg("path", { class: "ghost", d: this.path(plot, ghost.values, y), style: `stroke: ${ghost.colour}` }));
    }
    if (panel.low) drawing.append(svg("path", { class: "band", d: this.band(plot, panel.values, panel.low, y) }));
    drawing.append(svg("path", { class: "line", d: this.path(plot, panel.values, y) }));
    if (panel.end && panel.end.x < this.x.high) {
      const share = at(this.x, panel.end.x);
      drawing.append(svg("line", { class: "end", x1: 1000 * share, x2: 1000 * share, y1: 0, y2: 1000 }));
      area.append(placed("at foot", panel.end.text, share, 1));
    } else if (panel.end && !this.part) area.append(placed("at foot", panel.end.text, 1, 1));
    if (plot.dots) for (const [index, value] of panel.values.entries()) if (value !== null) area.append(placed("dot", "", at(this.x, plot.x[index]), 1 - at(y, value)));
    if (panel.label) area.append(this.labelled(plot, panel, y));
    if (ghost && ghost !== panel) {
      const last = lastOf(ghost.values, plot, this.x);
      if (last !== null) {
        // The bottom of a panel shows the end of its own run.
        const height = 1 - at(y, ghost.values[last]!);
        const label = placed("at ghost-name", ghost.name, at(this.x, plot.x[last]), height > 0.78 ? 0.12 : height);
        label.style.setProperty("--c", ghost.colour);
        area.append(label);
      }
    }
    const cursor = html("div", { class: "cursor", hidden: true });
    const readout = html("span", { class: "told", hidden: true });
    area.append(cursor, readout);
    this.listen(area);
    box.append(html("h4", { title: panel.name }, panel.name), html("p", {}, panel.text), area);
    if (panel.events) box.append(this.strip(plot, panel.events));
    box.append(axis(this.x, plot.showX, plot.panels.length > 1 ? 3 : 6));
    if (panel.eventsText !== undefined) box.append(html("p", { class: "counts" }, panel.eventsText));
    return { box, plot: area, cursor, readout };
  }

  // Returns the label of a curve: next to its end if there is space, otherwise above it.
  private labelled(plot: Plot, panel: Panel, y: Scale): HTMLElement {
    const last = lastOf(panel.values, plot, this.x);
    const share = last === null ? 0 : at(this.x, plot.x[last]);
    const height = (index: number | null): number => (index === null ? 0.5 : 1 - at(y, panel.values[index] ?? y.low));
    if (share < 0.62) return placed("at value", panel.label!, share, Math.min(Math.max(typical(panel.values, plot, (value) => 1 - at(y, value)), 0.06), 0.94));
    const middle = typical(panel.values, plot, (value) => 1 - at(y, value));
    const top = Number.isFinite(middle) ? middle : height(last);
    const label = placed("at value inside", panel.label!, 0.5, top < 0.2 ? Math.min(top + 0.1, 0.9) : Math.max(top - 0.09, 0.05));
    return label;
  }

  private strip(plot: Plot, events: number[]): HTMLElement {
    const lines = svg("svg", { viewBox: "0 0 1000 10", preserveAspectRatio: "none", "aria-hidden": "true" });
    const marks = events.flatMap((count, index) => (count && plot.x[index] >= this.x.low && plot.x[index] <= this.x.high ? [`M${(1000 * at(this.x, plot.x[index])).toFixed(1)} 0V10`] : []));
    lines.append(svg("path", { d: marks.join("") }));
    return html("div", { class: "events" }, lines, html("span", {}, plot.events ?? ""));
  }

  private points(plot: Plot, values: (number | null)[], y: Scale): ([number, number] | null)[] {
    return values.flatMap((value, index): ([number, number] | null)[] => {
      const x = plot.x[index];
      // Include one point beyond each edge, so that the curve reaches the edge.
      if ((plot.x[index + 1] ?? x) < this.x.low || (plot.x[index - 1] ?? x) > this.x.high) return [];
      return [value === null ? null : [1000 * across(this.x, x), 1000 * (1 - at(y, value))]];
    });
  }

  private path(plot: Plot, values: (number | null)[], y: Scale): string {
    let pen = "M";
    let before: [number, number] | null = null;
    const parts: string[] = [];
    for (const point of this.points(plot, values, y)) {
      if (!point) {
        pen = "M";
        before = null;
        continue;
      }
      const [px, py] = [point[0].toFixed(1), point[1].toFixed(1)];
      parts.push(plot.steps && before ? `H${px}V${py}` : `${pen}${px} ${py}`);
      pen = "L";
      before = point;
    }
    return parts.join("");
  }

  private band(plot: Plot, values: (number | null)[], low: (number | null)[], y: Scale): string {
    const upper = this.points(plot, values, y).filter((point) => point !== null);
    const lower = this.points(plot, low, y).filter((point) => point !== null);
    if (!upper.length || !lower.length) return "";
    const text = (points: [number, number][]): string => points.map(([px, py]) => `${px.toFixed(1)} ${py.toFixed(1)}`).join("L");
    return `M${text(upper)}L${text(lower.reverse())}Z`;
  }

  private said(plot: Plot, panel: Panel): string {
    const known = panel.values.filter((value): value is number => value !== null);
    if (!known.length) return "–";
    return `${plot.showY(known.reduce((a, b) => Math.min(a, b)))} – ${plot.showY(known.reduce((a, b) => Math.max(a, b)))}`;
  }

  // The cursor is shown in all panels at once. Dragging zooms in.
  private listen(area: HTMLElement): void {
    let from: number | null = null;
    const share = (event: PointerEvent): number => {
      const box = area.getBoundingClientRect();
      return Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    };
    area.addEventListener("pointermove", (event) => this.tell(this.nearest(share(event))));
    area.addEventListener("pointerleave", () => this.tell(null));
    area.addEventListener("blur", () => this.tell(null));
    area.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "mouse") from = share(event);
    });
    area.addEventListener("pointerup", (event) => {
      const to = share(event);
      if (from !== null && Math.abs(to - from) > 0.04 && !this.plot?.dots) this.look([Math.min(from, to), Math.max(from, to)]);
      from = null;
    });
    area.addEventListener("dblclick", () => this.look(null));
    area.addEventListener("keydown", (event) => this.key(event));
  }

  private look(share: [number, number] | null): void {
    const { low, high, log } = this.x;
    const value = (of: number): number => (log ? low * (high / low) ** of : low + (high - low) * of);
    this.part = share && [value(share[0]), value(share[1])];
    this.draw();
  }

  private nearest(share: number): number {
    const plot = this.plot!;
    let best = 0;
    plot.x.forEach((x, index) => {
      if (Math.abs(at(this.x, x) - share) < Math.abs(at(this.x, plot.x[best]) - share)) best = index;
    });
    return best;
  }

  private tell(index: number | null): void {
    this.cursor = index;
    const plot = this.plot!;
    this.cells.forEach(({ cursor, readout }, cell) => {
      const value = index === null ? null : plot.panels[cell].values[index];
      cursor.hidden = index === null;
      readout.hidden = value === null || value === undefined;
      if (index === null) return;
      const share = at(this.x, plot.x[index]);
      cursor.style.left = place(share);
      readout.style.left = place(share);
      readout.classList.toggle("r", share > 0.6);
      if (value !== null && value !== undefined) readout.textContent = say("panel.told", { x: plot.showX(plot.x[index]), y: plot.showY(value) });
    });
  }

  private key(event: KeyboardEvent): void {
    const plot = this.plot!;
    const last = plot.x.length - 1;
    const here = this.cursor ?? 0;
    const step = event.shiftKey ? Math.max(1, Math.round(last / 20)) : 1;
    const to = { ArrowLeft: here - step, ArrowRight: here + step, Home: 0, End: last }[event.key];
    if (event.key === "Escape" && this.part) this.look(null);
    if (to === undefined) return;
    event.preventDefault();
    this.tell(Math.min(Math.max(to, 0), last));
  }
}

// Returns the position without clamping it at the lower end.
const across = (scale: Scale, value: number): number => (scale.log ? at(scale, value) : (value - scale.low) / (scale.high - scale.low || 1));

function placed(kind: string, text: string, x: number, y: number): HTMLElement {
  const made = html("span", { class: `${kind}${x > 0.62 && !kind.includes("inside") ? " r" : ""}` }, text);
  made.style.setProperty("--x", place(x));
  made.style.setProperty("--y", place(y));
  return made;
}

// Returns the typical height of a curve: the median.
function typical(values: (number | null)[], plot: Plot, height: (value: number) => number): number {
  const known = values.filter((value): value is number => value !== null && (!plot.logY || value > 0)).map(height).sort((a, b) => a - b);
  return known.length ? known[known.length >> 1] : Number.NaN;
}

function lastOf(values: (number | null)[], plot: Plot, x: Scale): number | null {
  let found: number | null = null;
  values.forEach((value, index) => {
    if (value !== null && plot.x[index] <= x.high) found = index;
  });
  return found;
}

function scaleOf(plot: Plot): Scale {
  const values = plot.panels.flatMap(({ values }) => values.filter((value): value is number => value !== null));
  const high = values.reduce((a, b) => Math.max(a, b), 0);
  if (!plot.logY) {
    const top = Math.max(high, plot.least ?? 0) || 1;
    const step = round(top / 4);
    return { low: 0, high: step * Math.ceil(top / step), log: false };
  }
  const positive = values.filter((value) => value > 0);
  if (!positive.length) return { low: 0.1, high: 1, log: true };
  // Curves may fall to zero for a while. Four decades are enough to show it.
  const most = 10 ** Math.ceil(Math.log10(high) - 1e-9);
  const least = Math.max(10 ** Math.floor(Math.log10(positive.reduce((a, b) => Math.min(a, b))) + 1e-9), most / 1e4);
  return { low: least < most ? least : most / 10, high: high * 1.25 > most ? most * 1.25 : most, log: true };
}

// Returns round tick values: decades, and values between them if there are few.
export function ticks({ low, high, log }: Scale, about: number): number[] {
  if (!log) {
    const step = round((high - low) / about);
    return Array.from({ length: Math.floor(high / step + 1e-9) - Math.ceil(low / step - 1e-9) + 1 }, (_, index) => (Math.ceil(low / step - 1e-9) + index) * step);
  }
  const span = Math.log10(high / low);
  const steps = span > 2.2 ? [1] : span > 1.1 ? [1, 3] : [1, 2, 3, 5, 7];
  const found: number[] = [];
  for (let exponent = Math.floor(Math.log10(low)) - 1; exponent <= Math.ceil(Math.log10(high)); exponent++)
    for (const step of steps) {
      const value = step * 10 ** exponent;
      if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
    }
  const skip = Math.ceil(found.length / (about + 1));
  return found.filter((_, index) => index % skip === 0);
}

// Returns the next of 1, 2, 5, 10, 20 … that is not smaller.
export function round(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-12)));
  const of = value / power;
  return power * (of <= 1.0001 ? 1 : of <= 2.0001 ? 2 : of <= 5.0001 ? 5 : 10);
}

// Returns the labels of a scale. Each label includes the unit.
export function axis(scale: Scale, show: Show, about: number): HTMLElement {
  const element = html("div", { class: "axis", "aria-hidden": "true" });
  for (const tick of ticks(scale, about)) {
    const share = at(scale, tick);
    const text = html("span", { class: share > 0.93 ? "last" : share < 0.03 ? "first" : "" }, tick === 0 ? "0" : show(tick));
    text.style.setProperty("--x", place(share));
    element.append(text);
  }
  return element;
}

// Up to four panels are side by side. Five or six are in two rows of three.
const columns = (count: number): number => (count <= 4 ? count : count <= 6 ? 3 : 4);
