// Series of a port under the names that operators know from their screens.
import { Chart, type Line } from "./chart";
import type { Design, Metric, PortSeries } from "./data";
import { choice, html, selection } from "./dom";
import { type Show, count, percent, rate, size, time } from "./format";

interface Panel {
  title: string;
  about: string;
  // A second one is the lower edge of a band.
  metrics: [Metric, Metric?];
  show: Show;
  // From the sum, or the extreme, within a bucket of so many ns to what is drawn.
  scale?: (value: number, bucketNs: number) => number;
  steps: boolean;
  always?: boolean;
}

const PANELS: Panel[] = [
  { title: "Queue Length", about: "highest in each interval, shaded down to the lowest", metrics: ["queue_max", "queue_min"], show: size, steps: false, always: true },
  { title: "Queue Drops (Out Discards)", about: "frames in each interval", metrics: ["drops"], show: count, steps: true, always: true },
  { title: "Transmit Latency", about: "longest wait in each interval", metrics: ["latency_max"], show: time, steps: false, always: true },
  { title: "ECN Marks", about: "frames in each interval", metrics: ["ecn_marks"], show: count, steps: true },
  { title: "In Discards", about: "frames in each interval", metrics: ["in_discards"], show: count, steps: true },
  { title: "Pause Frames Sent", about: "in each interval", metrics: ["pause_tx"], show: count, steps: true },
  { title: "Pause Frames Received", about: "in each interval", metrics: ["pause_rx"], show: count, steps: true },
  { title: "Time Paused", about: "share of each interval", metrics: ["paused_ns"], show: percent, scale: (value, ns) => value / ns, steps: true },
  { title: "Out Rate", about: "mean of each interval", metrics: ["tx_bytes"], show: rate, scale: (value, ns) => (value * 8e9) / ns, steps: false, always: true },
  { title: "In Rate", about: "mean of each interval", metrics: ["rx_bytes"], show: rate, scale: (value, ns) => (value * 8e9) / ns, steps: false },
];

export function ports(data: PortSeries, designs: Design[]): HTMLElement[] {
  let port = data.ports[0];
  let queue = "-1";
  const x = Array.from({ length: data.buckets }, (_, index) => (index + 1) * data.bucket_ns);
  const charts = PANELS.map((panel) => new Chart(panel.title, "ports"));
  const silent = html("p", { class: "note" });
  const draw = (): void => {
    const quiet: string[] = [];
    PANELS.forEach((panel, place) => {
      const lines: Line[] = [];
      const recorded = port.series.flatMap((of, index) => (of && of[queue] ? [{ series: of[queue], index }] : []));
      for (const { series, index } of recorded)
        panel.metrics.forEach((metric, place) => {
          const found = (metric && series[metric]) ?? [];
          // A line ends with its run; before that, what is left out is zero.
          const lasted = data.lasted[index] ?? 0;
          const values = x.map((_, at) => (at >= lasted ? null : panel.scale ? panel.scale(found[at] ?? 0, data.bucket_ns) : (found[at] ?? 0)));
          lines.push({ label: designs[index].name, index, values, edge: place > 0 });
        });
      const anything = lines.some((line) => line.values.some((value) => value));
      const element = charts[place].element;
      element.hidden = lines.length === 0 || !(anything || panel.always);
      if (!anything) quiet.push(panel.title);
      if (!element.hidden) charts[place].show({ x, lines, showX: time, showY: panel.show, steps: panel.steps, dense: true }, `${panel.title}: ${panel.about}`);
    });
    silent.textContent = quiet.length ? `Zero all the time at this port: ${quiet.join(", ")}.` : "";
  };
  const queuesOf = (of: typeof port): [string, string][] => {
    const names = new Set(of.series.flatMap((series) => Object.keys(series ?? {})));
    return [...names].sort((a, b) => Number(a) - Number(b)).map((name) => [name, name === "-1" ? "Whole port" : `Queue ${name}`]);
  };
  const queueBox = html("div");
  const offerQueues = (): void => {
    const options = queuesOf(port);
    queue = "-1";
    queueBox.replaceChildren(...(options.length > 1 ? [choice("Queue", options, queue, (value) => ((queue = value), draw()))] : []));
  };
  const choose = selection("Port", data.ports.map((one, index) => [String(index), one.name]), (value) => {
    port = data.ports[Number(value)];
    offerQueues();
    draw();
  });
  offerQueues();
  draw();
  const intervals = [...new Set(data.intervals_ns.filter((ns): ns is number => ns !== null))];
  const coarser = intervals.some((ns) => ns < data.bucket_ns);
  const notes = [
    `Of ${data.seeds.length > 1 && new Set(data.seeds).size > 1 ? `the seeds ${data.seeds.join(", ")}` : `seed ${data.seeds[0]}`}.`,
    coarser
      ? `Downsampled: recorded every ${intervals.map(time).join(", ")}, shown every ${time(data.bucket_ns)}; counters are added up, of lengths and latencies the highest (and of the queue also the lowest) value of each interval is kept.`
      : `As recorded, every ${intervals.map(time).join(", ")}.`,
    data.recorded > data.ports.length ? `The ${data.ports.length} of ${data.recorded} recorded ports with the most drops, pauses, marks and the longest queues.` : `All ${data.recorded} recorded ports.`,
    "Drag across a chart to look closer, double-click or press Escape to see all; arrow keys move the cursor.",
  ];
  return [html("div", { class: "controls" }, choose.element, queueBox), html("div", { class: "pair" }, ...charts.map((chart) => chart.element)), silent, html("p", { class: "note" }, notes.join(" "))];
}
