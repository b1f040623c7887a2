// Series of a port over time: one panel per design, with a common time axis and scale.
import { type Shown, alikeNote, distinct } from "./alike";
import type { Metric, PortSeries, PortView, Report } from "./data";
import { choice, html, selection } from "./dom";
import { type Extent, extentChoice, extentNote } from "./extent";
import { type Show, count, percent, rate, size, time } from "./format";
import { Multiples, type Panel } from "./multiples";
import { type Key, counted, list, say, sentences } from "./words";

interface Series {
  title: Key;
  about: Key;
  // Metric of the curve, and optionally of the lower edge of a band.
  metrics: [Metric, Metric?];
  show: Show;
  // Converts the sum or the extreme within a bucket of `bucketNs` ns to the drawn value.
  scale?: (value: number, bucketNs: number) => number;
  steps: boolean;
  log?: boolean;
  // True for counts of frames, which can be added.
  counter?: boolean;
}

const SERIES: Series[] = [
  { title: "ports.queue", about: "ports.band", metrics: ["queue_max", "queue_min"], show: size, steps: false, log: true },
  { title: "ports.latency", about: "ports.longest", metrics: ["latency_max"], show: time, steps: false, log: true },
  { title: "ports.out", about: "ports.mean", metrics: ["tx_bytes"], show: rate, scale: (value, ns) => (value * 8e9) / ns, steps: false },
  { title: "ports.in", about: "ports.mean", metrics: ["rx_bytes"], show: rate, scale: (value, ns) => (value * 8e9) / ns, steps: false },
  { title: "ports.drops", about: "ports.frames", metrics: ["drops"], show: count, steps: true, counter: true },
  { title: "ports.marks", about: "ports.frames", metrics: ["ecn_marks"], show: count, steps: true, counter: true },
  { title: "ports.discards", about: "ports.frames", metrics: ["in_discards"], show: count, steps: true, counter: true },
  { title: "ports.pauseSent", about: "ports.each", metrics: ["pause_tx"], show: count, steps: true, counter: true },
  { title: "ports.pauseReceived", about: "ports.each", metrics: ["pause_rx"], show: count, steps: true, counter: true },
  { title: "ports.paused", about: "ports.share", metrics: ["paused_ns"], show: percent, scale: (value, ns) => value / ns, steps: true },
];
// Counts that are stated for each design below its panel.
const COUNTED: [Metric, Key][] = [["drops", "ports.dropped"], ["in_discards", "ports.discarded"], ["ecn_marks", "ports.marked"], ["pause_tx", "ports.pauses"], ["pause_rx", "ports.pausesGot"]];

// State that is kept when the language changes, and the function by which another section selects a
// port here.
const state = { port: 0, queue: "-1", series: 0, extent: { whole: false } as Extent };
let names: string[] = [];
let select: ((port: number) => void) | null = null;

// Returns a function that shows the port. Null if its series are not included.
export function showPort(name: string): (() => void) | null {
  const port = names.indexOf(name);
  return port < 0 ? null : () => select?.(port);
}

export function portNames(data: PortSeries | null): void {
  names = data?.views[0].ports.map((port) => port.name) ?? [];
}

const sum = (values: number[] | undefined): number => values?.reduce((a, b) => a + b, 0) ?? 0;

export function ports(report: Report): HTMLElement[] {
  const data = report.ports!;
  const [busy, longer] = data.views;
  const whole = longer ?? busy;
  const view = (): PortView => (state.extent.whole && longer) || busy;
  const recorded = distinct(report).filter(({ index }) => data.intervals_ns[index] !== null);
  const chart = new Multiples();
  const lead = html("p", { class: "lead" });
  const title = html("h3");
  const silent = html("p", { class: "note" });
  const note = html("p", { class: "note" });
  // Returns a series of the whole run.
  const of = (design: number, metric: Metric, from = whole): number[] | undefined => from.ports[state.port].series[design]?.[state.queue]?.[metric];
  const there = (): Shown[] => recorded.filter(({ index }) => whole.ports[state.port].series[index]?.[state.queue]);
  // Returns the mean queue length over the time that is shown.
  const meanOf = (design: number): number => view().means[design]?.[state.port]?.[state.queue] ?? 0;
  const anything = (series: Series): boolean => there().some(({ index }) => sum(of(index, series.metrics[0])) > 0);

  const draw = (): void => {
    const { bucket_ns: bucket, buckets, lasted: ends } = view();
    const x = Array.from({ length: buckets }, (_, index) => (index + 1) * bucket);
    const series = SERIES[state.series];
    const shown = there();
    const panels = shown.map(({ index, name, colour }): Panel => {
      const lasted = ends[index] ?? 0;
      // A line ends with its run. Before that, missing values are zero.
      const line = (metric: Metric | undefined): (number | null)[] => {
        const found = (metric && of(index, metric, view())) ?? [];
        return x.map((_, at) => (at >= lasted ? null : series.scale ? series.scale(found[at] ?? 0, bucket) : (found[at] ?? 0)));
      };
      const lost = x.map((_, at) => (of(index, "drops", view())?.[at] ?? 0) + (of(index, "in_discards", view())?.[at] ?? 0));
      const run = report.replay.runs[index].end;
      return {
        name,
        colour,
        text: textOf(index, series),
        values: line(series.metrics[0]),
        low: series.metrics[1] ? line(series.metrics[1]) : undefined,
        label: state.series === 0 ? say("ports.meanOf", { value: size(meanOf(index)), time: time(view().mean_ns) }) : undefined,
        end: lasted && lasted <= buckets && run <= buckets * bucket * 1.02 ? { x: Math.min(run, lasted * bucket), text: say("ports.done", { time: time(run) }) } : undefined,
        events: lost,
        eventsText: countsOf(index),
      };
    });
    title.textContent = say(series.log ? "ports.titleLog" : "ports.titleLinear", { title: say(series.title), about: say(series.about) });
    chart.show({ x, panels, showX: time, showY: series.show, logY: series.log && anything(series), steps: series.steps, ghost: panels.length > 1 ? 0 : undefined, events: say("ports.strip") });
    lead.textContent = leadOf(shown);
    const empty = SERIES.filter((one) => !anything(one)).map((one) => say(one.title));
    silent.textContent = empty.length ? say("ports.zero", { what: list(empty) }) : "";
    note.textContent = sentences(notes());
  };
  // Returns the extremes of the shown series as text.
  const textOf = (design: number, series: Series): string => {
    const values = of(design, series.metrics[0], whole) ?? [];
    const most = values.reduce((a, b) => Math.max(a, b), 0);
    if (!most) return say("ports.nothing");
    if (series.counter) return say("ports.inAll", { value: count(sum(values)) });
    return say("ports.most", { value: series.show(series.scale ? series.scale(most, whole.bucket_ns) : most) });
  };
  const countsOf = (design: number): string => {
    const parts = COUNTED.flatMap(([metric, word]) => (sum(of(design, metric)) ? [counted(word, sum(of(design, metric)), count(sum(of(design, metric))))] : []));
    return parts.length ? list(parts) : say("ports.none");
  };
  // Returns a sentence on the designs with the longest and the shortest mean queue.
  const leadOf = (shown: Shown[]): string => {
    const means = shown.map((design) => ({ design, mean: meanOf(design.index) })).sort((a, b) => b.mean - a.mean);
    if (!means.length) return "";
    const [first, last] = [means[0], means[means.length - 1]];
    const words = { port: busy.ports[state.port].name, time: time(view().mean_ns), most: size(first.mean), least: size(last.mean), longest: first.design.name, shortest: last.design.name };
    return say(means.length === 1 || words.most === words.least ? (means.length === 1 ? "ports.leadOne" : "ports.leadAlike") : "ports.lead", words);
  };
  const queueBox = html("div");
  const offerQueues = (): void => {
    // Queues that sent nothing are left out. A single queue equals the port.
    const used = busy.ports[state.port].series.flatMap((series) => Object.entries(series ?? {}).flatMap(([name, of]) => (name === "-1" || sum(of.tx_bytes) ? [name] : [])));
    const found = new Set(used.filter((name) => name === "-1" || new Set(used).size > 2 || !used.includes("-1")));
    const options = [...found].sort((a, b) => Number(a) - Number(b)).map((name): [string, string] => [name, name === "-1" ? say("ports.whole") : say("ports.queueOf", { queue: name })]);
    if (!found.has(state.queue)) state.queue = options[0]?.[0] ?? "-1";
    queueBox.replaceChildren(...(options.length > 1 ? [choice(say("ports.queueChoice"), options, state.queue, (value) => ((state.queue = value), draw()))] : []));
  };
  // Series that are zero at all ports are not offered.
  const offered = SERIES.flatMap((series, index): [string, string][] => (whole.ports.some(({ series: designs }) => designs.some((queues) => Object.values(queues ?? {}).some((queue) => sum(queue[series.metrics[0]])))) || index === 0 ? [[String(index), say(series.title)]] : []));
  if (!offered.some(([index]) => index === String(state.series))) state.series = 0;
  const what = selection(say("ports.series"), offered, (value) => ((state.series = Number(value)), draw()));
  what.element.querySelector("select")!.value = String(state.series);
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
  ];
  show(state.port);
  const controls = html("div", { class: "controls" }, choose.element, ...(offered.length > 1 ? [what.element] : []), queueBox, ...extentChoice(state.extent, longer !== undefined, draw));
  return [lead, controls, html("figure", {}, title, chart.element), silent, note, html("p", { class: "note how" }, say("ports.keys")), ...alikeNote(report)];
}
