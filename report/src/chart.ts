// A line chart: uPlot, with our colours, a legend that tells the values, and the keyboard.
import uPlot from "uplot";
import { html } from "./dom";
import type { Show } from "./format";
import { DASHES, colour, isPrinting, onTheme, seriesColour } from "./theme";
import { list, say } from "./words";

export interface Line {
  label: string;
  // Which colour and dashes.
  index: number;
  values: (number | null)[];
  // The lower edge of a band whose upper edge is the line before; not drawn itself.
  edge?: boolean;
}

export interface Plot {
  x: number[];
  lines: Line[];
  showX: Show;
  showY: Show;
  logX?: boolean;
  logY?: boolean;
  // Texts of the places on the x axis, instead of numbers.
  places?: string[];
  points?: boolean;
  // Counts per interval are drawn as steps.
  steps?: boolean;
  // A line of many hundred points: dashes would be lost in it.
  dense?: boolean;
}

const HEIGHT = 230;
// Two charts side by side on A4 or Letter paper with usual margins; the page has its screen layout still when we are told of printing.
const PRINTED_WIDTH = 315;

export class Chart {
  readonly element: HTMLElement;
  private readonly frame = html("div", { class: "frame" });
  private readonly readout = html("p", { class: "readout", "aria-live": "off" });
  private readonly caption: HTMLElement;
  private plot: uPlot | null = null;
  private shown: Plot | null = null;
  private width = 0;

  constructor(title: string, private readonly group?: string) {
    this.caption = html("figcaption", {}, title);
    this.element = html("figure", { class: "chart", tabindex: 0, keydown: (event) => this.key(event as KeyboardEvent) }, this.caption, this.frame, this.readout);
    new ResizeObserver(() => {
      const width = this.room();
      if (width !== this.width) this.draw();
    }).observe(this.frame);
    onTheme(() => this.draw());
  }

  show(plot: Plot, title?: string): void {
    this.shown = plot;
    if (title !== undefined) this.caption.textContent = title;
    this.draw();
  }

  private room(): number {
    return isPrinting() ? PRINTED_WIDTH : this.frame.clientWidth;
  }

  private draw(): void {
    this.plot?.destroy();
    this.plot = null;
    const shown = this.shown;
    this.width = this.room();
    if (!shown || this.width < 50) return;
    this.element.setAttribute("aria-label", say("chart.label", { title: this.caption.textContent ?? "", lines: list(shown.lines.filter((line) => !line.edge).map((line) => line.label)) }));
    this.frame.style.minHeight = `${HEIGHT}px`;
    this.plot = new uPlot(this.options(shown), [shown.x, ...shown.lines.map((line) => line.values)] as uPlot.AlignedData, this.frame);
    this.tell(null);
  }

  private options(shown: Plot): uPlot.Options {
    const ink = colour("muted");
    const axis = { stroke: ink, grid: { stroke: colour("grid"), width: 1 }, ticks: { stroke: colour("grid"), width: 1 }, font: `12px ${colour("font")}` };
    const values = shown.lines.flatMap((line) => line.values.filter((value): value is number => value !== null));
    const low = shown.logY ? Math.min(...values.filter((value) => value > 0)) : 0;
    const high = values.length ? values.reduce((a, b) => Math.max(a, b), 0) : 1;
    const paths = shown.steps ? uPlot.paths.stepped?.({ align: -1 }) : undefined;
    const yRange: [number, number] = shown.logY ? decades(low, high) : [0, high > 0 ? high * 1.06 : 1];
    const xRange: [number, number] = shown.places
      ? [-0.5, shown.places.length - 0.5]
      : shown.logX
        ? [shown.x[0], shown.x[shown.x.length - 1]]
        : [Math.min(0, shown.x[0] ?? 0), shown.x[shown.x.length - 1] ?? 1];
    const split = shown.places;
    const ySplits = shown.logY ? { splits: () => powers(yRange[0], yRange[1]) } : {};
    const xSplits = shown.logX ? { splits: (u: uPlot) => powers(u.scales.x.min ?? xRange[0], u.scales.x.max ?? xRange[1]) } : {};
    return {
      width: this.width,
      height: HEIGHT,
      legend: { show: false },
      padding: [10, 14, 0, 0],
      cursor: {
        points: { size: 7 },
        drag: { x: !shown.places, y: false },
        ...(this.group ? { sync: { key: this.group } } : {}),
      },
      scales: {
        x: { time: false, distr: shown.logX ? 3 : 1, ...(split ? { range: () => xRange } : { range: (_u, min, max) => (min === max ? xRange : [min, max]) }) },
        y: { distr: shown.logY ? 3 : 1, range: () => yRange },
      },
      axes: [
        {
          ...axis,
          space: split ? 10 : 70,
          ...xSplits,
          ...(split
            ? { splits: () => every(split.length, this.width), values: (_u: uPlot, at: number[]) => at.map((place) => split[place] ?? ""), size: 50 }
            : { size: 32, values: (_u: uPlot, at: (number | null)[]) => at.map((value) => (value === null ? "" : shown.showX(value))) }),
        },
        {
          ...axis,
          size: 74,
          space: 36,
          ...ySplits,
          values: (_u: uPlot, at: (number | null)[]) => at.map((value) => (value === null ? "" : shown.showY(value))),
        },
      ],
      series: [
        {},
        ...shown.lines.map(
          (line): uPlot.Series => ({
            label: line.label,
            stroke: seriesColour(line.index),
            width: line.edge ? 0 : shown.dense ? 1.4 : 2,
            dash: shown.dense ? [] : DASHES[line.index % DASHES.length],
            spanGaps: true,
            points: { show: shown.points === true || shown.x.length < 2, size: 7 },
            ...(paths ? { paths } : {}),
          }),
        ),
      ],
      bands: shown.lines.flatMap((line, index): uPlot.Band[] => (line.edge ? [{ series: [index, index + 1], fill: `color-mix(in srgb, ${seriesColour(line.index)} 22%, transparent)` }] : [])),
      hooks: { setCursor: [(u) => this.tell(u.cursor.idx ?? null)] },
    };
  }

  // The legend; with the values where the cursor is.
  private tell(index: number | null): void {
    const shown = this.shown;
    if (!shown) return;
    const lines = shown.lines.filter((line) => !line.edge);
    const parts: (Node | string)[] = lines.map((line) => {
      const value = index === null ? null : line.values[index];
      const key = html("span", { class: "key", "aria-hidden": true });
      key.style.borderColor = seriesColour(line.index);
      key.style.borderTopStyle = line.index === 0 || shown.dense ? "solid" : "dashed";
      return html("span", { class: "entry" }, key, line.label, ...(value === null || value === undefined ? [] : [html("b", {}, ` ${shown.showY(value)}`)]));
    });
    if (index !== null) parts.unshift(html("span", { class: "entry" }, shown.places ? (shown.places[shown.x[index]] ?? "") : shown.showX(shown.x[index])));
    this.readout.replaceChildren(...parts);
  }

  private key(event: KeyboardEvent): void {
    const plot = this.plot;
    const shown = this.shown;
    if (!plot || !shown || event.target !== this.element) return;
    const last = shown.x.length - 1;
    const here = plot.cursor.idx ?? 0;
    const step = event.shiftKey ? Math.max(1, Math.round(last / 20)) : 1;
    const to = { ArrowLeft: here - step, ArrowRight: here + step, Home: 0, End: last }[event.key];
    if (event.key === "Escape") plot.setScale("x", { min: shown.x[0], max: shown.x[last] });
    if (to === undefined) return;
    event.preventDefault();
    const index = Math.min(Math.max(to, 0), last);
    plot.setCursor({ left: plot.valToPos(shown.x[index], "x"), top: plot.over.clientHeight / 2 });
  }
}

function powers(low: number, high: number): number[] {
  const found: number[] = [];
  const decadesShown = Math.log10(high / low);
  const steps = decadesShown > 3 ? [1] : decadesShown > 1.2 ? [1, 3] : [1, 1.5, 2, 3, 5, 7];
  for (let exponent = Math.floor(Math.log10(low)); exponent <= Math.ceil(Math.log10(high)); exponent++)
    for (const step of steps) {
      const value = step * 10 ** exponent;
      if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
    }
  const skip = Math.ceil(found.length / 9);
  return found.filter((_, index) => index % skip === 0);
}

function decades(low: number, high: number): [number, number] {
  return low > 0 && Number.isFinite(low) ? [low / 1.15, Math.max(high, low * 1.01) * 1.15] : [0.1, 1];
}

// Places with room for their text.
function every(places: number, width: number): number[] {
  const skip = Math.max(1, Math.ceil((places * 84) / Math.max(width - 90, 84)));
  return Array.from({ length: places }, (_, index) => index).filter((index) => index % skip === 0);
}
