// Series of a port under the names that operators know from their screens.
import { Chart, type Line } from "./chart";
import type { Design, Metric, PortSeries, PortView } from "./data";
import { choice, html, selection } from "./dom";
import { type Extent, extentChoice, extentNote } from "./extent";
import { type Show, count, percent, rate, size, time } from "./format";
import { type Key, list, say, sentences } from "./words";

interface Panel {
  title: Key;
  about: Key;
  // A second one is the lower edge of a band.
  metrics: [Metric, Metric?];
  show: Show;
  // From the sum, or the extreme, within a bucket of so many ns to what is drawn.
  scale?: (value: number, bucketNs: number) => number;
  steps: boolean;
  always?: boolean;
}

const PANELS: Panel[] = [
  { title: "ports.queue", about: "ports.band", metrics: ["queue_max", "queue_min"], show: size, steps: false, always: true },
  { title: "ports.drops", about: "ports.frames", metrics: ["drops"], show: count, steps: true, always: true },
  { title: "ports.latency", about: "ports.longest", metrics: ["latency_max"], show: time, steps: false, always: true },
  { title: "ports.marks", about: "ports.frames", metrics: ["ecn_marks"], show: count, steps: true },
  { title: "ports.discards", about: "ports.frames", metrics: ["in_discards"], show: count, steps: true },
  { title: "ports.pauseSent", about: "ports.each", metrics: ["pause_tx"], show: count, steps: true },
  { title: "ports.pauseReceived", about: "ports.each", metrics: ["pause_rx"], show: count, steps: true },
  { title: "ports.paused", about: "ports.share", metrics: ["paused_ns"], show: percent, scale: (value, ns) => value / ns, steps: true },
  { title: "ports.out", about: "ports.mean", metrics: ["tx_bytes"], show: rate, scale: (value, ns) => (value * 8e9) / ns, steps: false, always: true },
  { title: "ports.in", about: "ports.mean", metrics: ["rx_bytes"], show: rate, scale: (value, ns) => (value * 8e9) / ns, steps: false },
];

// What stays when the language is changed; and how another section has a port shown here.
const state = { port: 0, queue: "-1", extent: { whole: false } as Extent };
let names: string[] = [];
let select: ((port: number) => void) | null = null;

// Null: this port's series are not here.
export function showPort(name: string): (() => void) | null {
  const port = names.indexOf(name);
  return port < 0 ? null : () => select?.(port);
}

export function portNames(data: PortSeries | null): void {
  names = data?.views[0].ports.map((port) => port.name) ?? [];
}

export function ports(data: PortSeries, designs: Design[]): HTMLElement[] {
  const [busy, longer] = data.views;
  const view = (): PortView => (state.extent.whole && longer) || busy;
  const charts = PANELS.map((panel) => new Chart(say(panel.title), "ports"));
  const silent = html("p", { class: "note" });
  const note = html("p", { class: "note" });
  const draw = (): void => {
    const { ports, lasted: ends, bucket_ns: bucket, buckets } = view();
    const x = Array.from({ length: buckets }, (_, index) => (index + 1) * bucket);
    const quiet: string[] = [];
    PANELS.forEach((panel, place) => {
      const lines: Line[] = [];
      const recorded = ports[state.port].series.flatMap((of, index) => (of && of[state.queue] ? [{ series: of[state.queue], index }] : []));
      for (const { series, index } of recorded)
        panel.metrics.forEach((metric, place) => {
          const found = (metric && series[metric]) ?? [];
          // A line ends with its run; before that, what is left out is zero.
          const lasted = ends[index] ?? 0;
          const values = x.map((_, at) => (at >= lasted ? null : panel.scale ? panel.scale(found[at] ?? 0, bucket) : (found[at] ?? 0)));
          lines.push({ label: designs[index].name, index, values, edge: place > 0 });
        });
      const anything = lines.some((line) => line.values.some((value) => value));
      const element = charts[place].element;
      element.hidden = lines.length === 0 || !(anything || panel.always);
      if (!anything) quiet.push(say(panel.title));
      const title = say("ports.chart", { title: say(panel.title), about: say(panel.about) });
      if (!element.hidden) charts[place].show({ x, lines, showX: time, showY: panel.show, steps: panel.steps, dense: true }, title);
    });
    silent.textContent = quiet.length ? say("ports.zero", { what: list(quiet) }) : "";
    note.textContent = sentences(notes());
  };
  const queueBox = html("div");
  const offerQueues = (): void => {
    const found = new Set(busy.ports[state.port].series.flatMap((series) => Object.keys(series ?? {})));
    const options = [...found].sort((a, b) => Number(a) - Number(b)).map((name): [string, string] => [name, name === "-1" ? say("ports.whole") : say("ports.queueOf", { queue: name })]);
    if (!found.has(state.queue)) state.queue = options[0]?.[0] ?? "-1";
    queueBox.replaceChildren(...(options.length > 1 ? [choice(say("ports.queueChoice"), options, state.queue, (value) => ((state.queue = value), draw()))] : []));
  };
  const choose = selection(say("ports.port"), busy.ports.map((one, index) => [String(index), one.name]), (value) => show(Number(value)));
  const box = choose.element.querySelector("select")!;
  const show = (port: number): void => {
    state.port = port;
    box.value = String(port);
    offerQueues();
    draw();
  };
  select = (port) => {
    show(port);
    document.getElementById("ports")?.scrollIntoView();
    box.focus({ preventScroll: true });
  };
  const intervals = [...new Set(data.intervals_ns.filter((ns): ns is number => ns !== null))];
  const every = list(intervals.map(time));
  const notes = (): string[] => [
    ...extentNote(state.extent, longer ? busy.end_ns : null, data.end_ns, data.share),
    say(new Set(data.seeds).size > 1 ? "ports.seeds" : "ports.seed", { seeds: list((new Set(data.seeds).size > 1 ? data.seeds : data.seeds.slice(0, 1)).map(String)) }),
    intervals.some((ns) => ns < view().bucket_ns) ? say("ports.downsampled", { recorded: every, shown: time(view().bucket_ns) }) : say("ports.asRecorded", { every }),
    say(data.recorded > busy.ports.length ? "ports.some" : "ports.all", { shown: count(busy.ports.length), recorded: count(data.recorded) }),
    say("ports.keys"),
  ];
  show(state.port);
  const controls = html("div", { class: "controls" }, choose.element, queueBox, ...extentChoice(state.extent, longer !== undefined, draw));
  return [controls, html("div", { class: "pair" }, ...charts.map((chart) => chart.element)), silent, note];
}
