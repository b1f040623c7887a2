// What the page is told, and how it is read. `python/afflux/report/data.py` makes it.
import type { Language } from "./words";

export interface Design {
  name: string;
  seeds: number[];
  // Which of the design colours; designs whose results are the same in every seed share one.
  colour: number;
}

export type Percentiles = Record<"mean" | "p50" | "p95" | "p99" | "p999", number | null>;
export type Distribution = { x: number[]; below: number[][]; flows: number[] };

export interface Completion {
  // Lower and upper bound of each class of flow sizes, bytes.
  sizes: [number, number][];
  designs: {
    count: number[];
    // By percentile: one value per class, null where there are too few flows for it.
    fct: Record<string, (number | null)[]>;
    slowdown: Record<string, (number | null)[]>;
  }[];
  // Of all flows: how many have at most x.
  cdf: Record<"fct" | "slowdown", Distribution>;
  // All flows (without a name and a distribution of its own), then classes of traffic; by design.
  groups: {
    name: string | null;
    cdf: Record<"fct" | "slowdown", Distribution> | null;
    flows: number[];
    percentiles: Record<"fct" | "slowdown", Percentiles>[];
    said: Record<"fct" | "slowdown", Record<Language, string>>;
  }[];
}

export type Metric = "queue_max" | "queue_min" | "drops" | "in_discards" | "ecn_marks" | "pause_tx" | "pause_rx" | "paused_ns" | "latency_max" | "tx_bytes" | "rx_bytes";

export interface PortSeries {
  intervals_ns: (number | null)[];
  // How many ports were recorded; those that had most to show are here.
  recorded: number;
  seeds: number[];
  end_ns: number;
  // What is shown at first; and the whole run, where that is longer: then this share of the bytes is in the first.
  views: [PortView, PortView?];
  share: number | null;
  // By design, then port, then queue: the mean length, bytes.
  means: (Record<string, number>[] | null)[];
}

export interface PortView {
  bucket_ns: number;
  end_ns: number;
  buckets: number;
  // By design: how many buckets its run lasts here. Null: not recorded.
  lasted: (number | null)[];
  // By design, then queue (-1: the whole port), then metric; what is left out is zero. Null: not recorded.
  ports: { name: string; series: (Record<string, Partial<Record<Metric, number[]>>> | null)[] }[];
}

export interface Timeline {
  phases: string[];
  jobs: string[];
  total: number;
  // Columns: index of the job, of the phase, name of the task, node (-1: none), start, finish (null: not finished).
  job: number[];
  phase: number[];
  task: string[];
  node: number[];
  // By node.
  names: Record<string, string>;
  start: (number | null)[];
  finish: (number | null)[];
  end: number;
  // When most bars had ended, if that is much earlier.
  until: number | null;
  seed: number;
}

// Mean of the paired differences, and its 95 % interval; null where there are too few pairs.
export type Change = [number, number | null, number | null];

// Times in parts, ns, by design: means over the runs, and what makes the difference to the first design. Null: unknown.
export interface Breakdown {
  labels: string[];
  designs: (number[] | null)[];
  changes: ({ pairs: number; before: number; exact: boolean; parts: Change[]; total: Change } | null)[];
  // By design, in a sentence.
  said: (Record<Language, string> | null)[];
}

export interface Phases extends Breakdown {
  // A part is a mean over several jobs.
  several: boolean;
}

export interface Split {
  labels: string[];
  // Of all flows, of classes of sizes, of classes of traffic.
  groups: (Omit<Breakdown, "labels"> & { by: "all" | "size" | "class"; name: string; flows: number[]; unfinished: number[] })[];
}

export interface Fabric {
  // Hosts in their order, then switches; so many are hosts.
  nodes: string[];
  hosts: number;
  // Links, by the places of their ends; direction 2 * l is that from a to b of link l, 2 * l + 1 the other way.
  a: number[];
  b: number[];
  // By direction, bits per second.
  rate: number[];
}

// What a port did in each frame, as characters; see moments.ts. Rate, queue, drops, marks, PAUSE frames.
export type Series = Partial<Record<"u" | "q" | "d" | "m" | "p", string>>;
export type Counter = "d" | "m" | "p";

export interface Run {
  fabric: number;
  seed: number;
  end: number;
  // By direction, thousandths of its capacity, over the whole run.
  means: number[];
  // Null: ports were not recorded.
  ports: {
    interval_ns: number;
    recorded: number;
    // Of the whole run.
    totals: Record<Counter, Record<string, number>>;
    // What is shown at first; and the whole run, where that is longer: then this share of the bytes is in the first.
    views: [RunView, RunView?];
    share: number | null;
  } | null;
}

export interface RunView {
  frame_ns: number;
  frames: number;
  end_ns: number;
  most: Record<"q" | Counter, number>;
  series: Record<string, Series>;
}

export interface Replay {
  fabrics: Fabric[];
  runs: Run[];
}

export interface Path {
  nodes: string[];
  frames: number;
  bytes: number;
  subflow: number;
}

export interface Flows {
  // Rows of the columns.
  kinds: Record<"slowest" | "biggest" | "unfinished", number[]>;
  flows: number;
  columns: {
    id: number[];
    class: string[];
    job: string[];
    src: number[];
    dst: number[];
    // Names of source and destination.
    from: string[];
    to: string[];
    bytes: number[];
    start_ns: number[];
    fct_ns: (number | null)[];
    slowdown: (number | null)[];
    packets_sent: number[];
    packets_retransmitted: number[];
    timeouts: number[];
    ecn_marked: number[];
  };
  // By label; null: not recorded.
  split: Record<string, (number | null)[]> | null;
  // By row; null: not recorded.
  paths: { paths: Path[]; all: number; frames: number }[] | null;
}

export interface Report {
  designs: Design[];
  // By design: the place of the first one with the same results, and why they are the same.
  alike: { as: number; why: Record<Language, string> | null }[];
  completion: Completion | null;
  ports: PortSeries | null;
  timelines: (Timeline | null)[];
  phases: Phases | null;
  split: Split | null;
  replay: Replay;
  flows: Flows[];
}

// The data is deflated JSON in base64: a tenth of its plain size.
export async function read(id: string): Promise<Report> {
  const text = document.getElementById(id)?.textContent?.trim() ?? "";
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}
