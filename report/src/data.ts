// What the page is told, and how it is read. `python/afflux/report/data.py` makes it.

export interface Design {
  name: string;
  seeds: number[];
}

export interface Completion {
  // Lower and upper bound of each class of flow sizes, bytes.
  sizes: [number, number][];
  designs: {
    count: number[];
    // By percentile: one value per class, null where there are too few flows for it.
    fct: Record<string, (number | null)[]>;
    slowdown: Record<string, (number | null)[]>;
  }[];
  cdf: Record<"fct" | "slowdown", { x: number[]; below: number[][]; flows: number[] }>;
}

export type Metric = "queue_max" | "queue_min" | "drops" | "in_discards" | "ecn_marks" | "pause_tx" | "pause_rx" | "paused_ns" | "latency_max" | "tx_bytes" | "rx_bytes";

export interface PortSeries {
  bucket_ns: number;
  intervals_ns: (number | null)[];
  buckets: number;
  // By design: how many buckets its run lasted. Null: not recorded.
  lasted: (number | null)[];
  // How many ports were recorded; those that had most to show are here.
  recorded: number;
  seeds: number[];
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
  start: (number | null)[];
  finish: (number | null)[];
  end: number;
  seed: number;
}

export interface Split {
  labels: string[];
  groups: { size: string; designs: ({ flows: number; mean_fct_ns: number; shares: number[] } | null)[] }[];
}

export interface Report {
  designs: Design[];
  completion: Completion | null;
  ports: PortSeries | null;
  timelines: (Timeline | null)[];
  split: Split | null;
}

// The data is deflated JSON in base64: a tenth of its plain size.
export async function read(id: string): Promise<Report> {
  const text = document.getElementById(id)?.textContent?.trim() ?? "";
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}
