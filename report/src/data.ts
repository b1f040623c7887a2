// Types of the page's data, and the function that reads it. `python/afflux/report/data.py` creates
// the data.
import type { Language } from "./words";

export interface Design {
  name: string;
  seeds: number[];
  // Index of the design's colour. Designs with the same results for every seed share a colour.
  colour: number;
}

export type Percentiles = Record<"mean" | "p50" | "p95" | "p99" | "p999", number | null>;
export type Distribution = { x: number[]; below: number[][]; flows: number[] };

export interface Completion {
  // Lower and upper bound of each class of flow sizes, in bytes.
  sizes: [number, number][];
  designs: {
    count: number[];
    // By percentile: one value per class. Null if the class has too few flows.
    fct: Record<string, (number | null)[]>;
    slowdown: Record<string, (number | null)[]>;
  }[];
  // Distribution of all flows: number of flows with at most x.
  cdf: Record<"fct" | "slowdown", Distribution>;
  // Groups by design: all flows (without a name and a separate distribution), then traffic classes.
  groups: {
    name: string | null;
    cdf: Record<"fct" | "slowdown", Distribution> | null;
    // Number of flows that finished, and of those that did not.
    flows: number[];
    unfinished: number[];
    percentiles: Record<"fct" | "slowdown", Percentiles>[];
    said: Record<"fct" | "slowdown", Record<Language, string>>;
  }[];
  // Number of traffic classes that are not among the groups: those with the fewest flows.
  hidden: number;
}

export type Metric = "queue_max" | "queue_min" | "drops" | "in_discards" | "ecn_marks" | "pause_tx" | "pause_rx" | "paused_ns" | "latency_max" | "tx_bytes" | "rx_bytes";

export interface PortSeries {
  intervals_ns: (number | null)[];
  // Number of recorded ports. Only the ports with the most activity are included here.
  recorded: number;
  seeds: number[];
  end_ns: number;
  // The view that is shown first, and the whole run, if that is longer. `share` is then the share
  // of the bytes that the first view contains.
  views: [PortView, PortView?];
  share: number | null;
}

export interface PortView {
  bucket_ns: number;
  end_ns: number;
  buckets: number;
  // Number of buckets that each design's run lasts in this view. Null: not recorded.
  lasted: (number | null)[];
  // Mean queue length in bytes from 0 to `mean_ns`, by design, port and queue.
  mean_ns: number;
  means: (Record<string, number>[] | null)[];
  // Series by design, queue (-1: the whole port) and metric. Missing values are zero. Null: not
  // recorded.
  ports: { name: string; series: (Record<string, Partial<Record<Metric, number[]>>> | null)[] }[];
}

export interface Timeline {
  phases: string[];
  jobs: string[];
  // Number of rows; of jobs that started; of all jobs.
  total: number;
  started: number;
  defined: number;
  // Columns: index of the job, index of the phase, name of the task, node (-1: none), start, finish
  // (null: not finished).
  job: number[];
  phase: number[];
  task: string[];
  node: number[];
  // Names by node.
  names: Record<string, string>;
  start: (number | null)[];
  finish: (number | null)[];
  end: number;
  // Time at which most bars had ended, if that is much earlier than the end.
  until: number | null;
  seed: number;
}

// Mean of the paired differences, and its 95 % interval. Null if there are too few pairs.
export type Change = [number, number | null, number | null];

// Split of times in ns by design: means over the runs, and the parts of the difference from the
// first design. Null: unknown.
export interface Breakdown {
  labels: string[];
  designs: (number[] | null)[];
  changes: ({ pairs: number; before: number; exact: boolean; parts: Change[]; total: Change } | null)[];
  // Description of each design in a sentence.
  said: (Record<Language, string> | null)[];
}

export interface Phases extends Breakdown {
  // True if a part is a mean over several jobs.
  several: boolean;
}

export interface Split {
  labels: string[];
  // Groups: all flows, size classes, traffic classes.
  groups: (Omit<Breakdown, "labels"> & { by: "all" | "size" | "class"; name: string; flows: number[]; unfinished: number[] })[];
  // Names the traffic classes without a finished flow. They are not among the groups.
  without: Record<Language, string> | null;
}

export interface Fabric {
  // Hosts in order, then switches. `hosts` is the number of hosts.
  nodes: string[];
  hosts: number;
  // Links, by the indices of their ends. Direction 2 * l is from a to b of link l, and 2 * l + 1
  // from b to a.
  a: number[];
  b: number[];
  // Rate in bit/s by direction.
  rate: number[];
}

// Activity of a port in each frame, encoded as characters (see moments.ts). Rate, queue, drops,
// marks, PAUSE frames.
export type Series = Partial<Record<"u" | "q" | "d" | "m" | "p", string>>;
export type Counter = "d" | "m" | "p";

export interface Run {
  fabric: number;
  seed: number;
  end: number;
  // Mean use of each direction over the whole run, in thousandths of its capacity.
  means: number[];
  // Null if ports were not recorded.
  ports: {
    interval_ns: number;
    recorded: number;
    // Totals of the whole run.
    totals: Record<Counter, Record<string, number>>;
    // The view that is shown first, and the whole run, if that is longer. `share` is then the share
    // of the bytes that the first view contains.
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
  // Rows of the columns, by kind.
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
    // Null: a flow of a real kernel.
    timeouts: (number | null)[];
    ecn_marked: number[];
  };
  // By label. Null: not recorded.
  split: Record<string, (number | null)[]> | null;
  // By row. Null: not recorded.
  paths: { paths: Path[]; all: number; frames: number }[] | null;
}

export interface Report {
  designs: Design[];
  // By design: index of the first design with the same results, and the reason why they are the
  // same.
  alike: { as: number; why: Record<Language, string> | null }[];
  completion: Completion | null;
  ports: PortSeries | null;
  timelines: (Timeline | null)[];
  phases: Phases | null;
  split: Split | null;
  replay: Replay;
  flows: Flows[];
}

// The data is deflated JSON in base64, a tenth of its plain size.
export async function read(id: string): Promise<Report> {
  const text = document.getElementById(id)?.textContent?.trim() ?? "";
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}
