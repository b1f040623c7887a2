// Job timelines: tasks by time and node. Tracks are named by node, and bars by their task or phase.
import { type Shown, distinct } from "./alike";
import { wide } from "./breakdown";
import type { Report, Timeline } from "./data";
import { chooser, details, html, table } from "./dom";
import { type Extent, extentChoice, extentNote } from "./extent";
import { count, time } from "./format";
import { round } from "./multiples";
import { STEPS, phaseColour } from "./phases";
import { list, named, say, sentences } from "./words";

// Approximate width in pixels of a bar that is as long as the axis.
const WIDTH = 1030;
// Largest number of lanes of a node. Further bars are drawn on the last lane.
const LANES = 40;

// State that is kept when the language changes.
const state = { extent: { whole: false } as Extent, other: null as number | null };

interface Bar {
  row: number;
  start: number;
  finish: number;
}

export function timelines(report: Report): HTMLElement[] {
  const all = report.timelines;
  const shown = distinct(report).filter(({ index }) => all[index]);
  const last = Math.max(...shown.map(({ index }) => all[index]!.end));
  // All designs are shown until the same time, the latest of all designs.
  const busy = Math.max(...shown.map(({ index }) => all[index]!.until ?? all[index]!.end));
  const until = busy < last ? busy : null;
  // Phases have the same colour in all designs.
  const phases = [...new Set(all.flatMap((one) => one?.phases ?? []))].filter((phase) => phase !== "" && phase !== "job");
  const keyed = phases.filter((phase) => phase !== "merge" && phase !== "master");
  const others = shown.slice(1);
  if (!others.some(({ index }) => index === state.other)) {
    state.other = others.length ? others.reduce((one, two) => (Math.abs(all[two.index]!.end - all[shown[0].index]!.end) > Math.abs(all[one.index]!.end - all[shown[0].index]!.end) ? two : one)).index : null;
  }
  const box = html("div", { class: "gantt" });
  const numbers = html("div");
  const lead = html("p", { class: "lead" });
  const note = html("p", { class: "note" });
  const draw = (): void => {
    const end = state.extent.whole ? last : busy;
    const drawn = shown.filter(({ index }, place) => place === 0 || index === state.other);
    box.replaceChildren(...drawn.flatMap((design) => timeline(all[design.index]!, design, end, phases)), html("span"), timeAxis(end));
    lead.textContent = sentence(report, drawn);
    const left = drawn.flatMap((design) => (all[design.index]!.total > all[design.index]!.start.length ? [say("jobs.left", { design: design.name, drawn: count(all[design.index]!.start.length), total: count(all[design.index]!.total) })] : []));
    const tasks = drawn.some((design) => all[design.index]!.task.some((task) => task !== ""));
    note.textContent = sentences([...(tasks ? [say("jobs.how")] : []), ...left, ...extentNote(state.extent, until, last, null)]);
    numbers.replaceChildren(...drawn.map((design) => listed(all[design.index]!, design)));
  };
  draw();
  const options = others.map(({ index, name }): [string, string] => [String(index), name]);
  const other = options.length > 1 ? [chooser(say("split.against", { baseline: shown[0].name }), options, String(state.other), (value) => ((state.other = Number(value)), draw()))] : [];
  const extent = extentChoice(state.extent, until !== null, draw);
  const controls = other.length + extent.length ? [html("div", { class: "controls" }, ...other, ...extent)] : [];
  const key = html("div", { class: "parts phone" });
  keyed.forEach((phase) => {
    const entry = html("span", {}, named("phase", phase === "submit" ? "start" : phase));
    entry.style.setProperty("--p", phaseColour(phase, phases.indexOf(phase)));
    key.append(entry);
  });
  return [lead, ...controls, ...(phases.length > 1 ? [key] : []), html("figure", {}, box, note, details(say("numbers"), numbers))];
}

// Returns a sentence on the duration of the job, or of all jobs.
function sentence(report: Report, drawn: Shown[]): string {
  // Designs may have started different numbers of jobs by the end of the run.
  const counts = drawn.map((design) => report.timelines[design.index]!);
  const alike = counts.every(({ started, defined }) => started === defined && defined === counts[0].defined);
  const key = !alike ? "jobs.leadEach" : counts[0].defined > 1 ? "jobs.leadMany" : "jobs.lead";
  const said = drawn.map((design) => {
    const data = report.timelines[design.index]!;
    const unfinished = data.start.some((start, row) => start !== null && data.task[row] === "" && data.finish[row] === null);
    const took = say(unfinished ? "jobs.unfinished" : "jobs.took", { design: design.name, time: time(data.end) });
    const words = { what: took, started: count(data.started), defined: count(data.defined) };
    return alike ? took : say(data.started < data.defined ? "jobs.startedOf" : "jobs.startedAll", words);
  });
  const seeds = [...new Set(drawn.map((design) => report.timelines[design.index]!.seed))];
  return say(key, { what: list(said), seeds: say(seeds.length > 1 ? "seed.many" : "seed.one", { seeds: list(seeds.map(String)) }).trim(), count: count(counts[0].defined), job: report.timelines[drawn[0].index]!.jobs[0] });
}

function timeline(data: Timeline, design: Shown, end: number, phases: string[]): HTMLElement[] {
  const every: Bar[] = data.start.flatMap((start, row) => (start === null ? [] : [{ row, start, finish: data.finish[row] ?? data.end }]));
  const bars = every.filter((bar) => bar.start < end || end >= data.end);
  const isTask = (bar: Bar): boolean => data.task[bar.row] !== "";
  const phaseOf = (bar: Bar): string => data.phases[data.phase[bar.row]];
  const tasks = bars.filter(isTask);
  // A whole job is as long as its phases together, so it is drawn only if it has no phases.
  const wholes = bars.filter((bar) => !isTask(bar));
  const parts = wholes.filter((bar) => phaseOf(bar) !== "job");
  const title = html("div", { class: "title" }, say("jobs.of", { design: design.name, time: time(data.end), seed: data.seed }));
  title.style.setProperty("--c", design.colour);
  const found = [title, ...track(data, parts.length ? parts : wholes, say(data.jobs.length > 1 ? "jobs.jobs" : "jobs.job"), "", end, phases, true)];
  for (const node of [...new Set(tasks.map((bar) => data.node[bar.row]))].sort((a, b) => a - b)) {
    const own = tasks.filter((bar) => data.node[bar.row] === node);
    const counts = [...new Set(own.map(phaseOf))].filter((phase) => !STEPS.includes(phase)).sort((a, b) => phases.indexOf(a) - phases.indexOf(b)).map((phase) => say("jobs.count", { count: own.filter((bar) => phaseOf(bar) === phase).length, phase: named("phase", phase) }));
    found.push(...track(data, own, data.names[node] ?? String(node), list(counts), end, phases, false));
  }
  return found;
}

// Returns a track: its name, and its bars in as few lanes as possible.
function track(data: Timeline, bars: Bar[], name: string, about: string, end: number, phases: string[], whole: boolean): HTMLElement[] {
  const lanes = pack(chained(data, bars, end / 100));
  const row = html("div", { class: `row${whole ? " phases" : ""}`, role: "img", "aria-label": say("jobs.track", { name, bars: bars.length }) });
  row.style.setProperty("--lanes", String(Math.min(lanes.length, LANES)));
  const share = (ns: number): number => (100 * ns) / Math.max(end, 1);
  lanes.forEach((lane, place) => {
    for (const bar of lane) {
      const phase = data.phases[data.phase[bar.row]];
      const unfinished = data.finish[bar.row] === null;
      const what = [data.jobs[data.job[bar.row]], phase === "job" ? "" : named("phase", phase), data.task[bar.row]].filter((word) => word !== "");
      const text = say(unfinished ? "jobs.barUnfinished" : "jobs.bar", { what: list(what), start: time(bar.start), finish: time(bar.finish), duration: time(bar.finish - bar.start) });
      const piece = html("i", { class: `${whole ? "s" : "t"}${unfinished ? " unfinished" : ""}`, title: text });
      // A bar that continues is cut at the edge.
      const length = share(Math.min(bar.finish, end) - bar.start);
      piece.style.cssText = `--x:${share(bar.start).toFixed(2)}%;--w:${Math.max(length, 0).toFixed(2)}%;--l:${Math.min(place, LANES - 1)};--p:${phase === "" || phase === "job" ? "var(--phase-0)" : phaseColour(phase, phases.indexOf(phase))}`;
      const label = phase === "" || phase === "job" || data.jobs.length > 1 ? what[0] : named("phase", phase);
      if (whole && (length / 100) * WIDTH > wide(label) + 8) piece.append(label);
      row.append(piece);
    }
  });
  const step = share(round(end / 8));
  row.style.setProperty("--step", `${step}%`);
  return [html("div", { class: "who" }, name, ...(about ? [html("small", {}, about)] : [])), row];
}

function timeAxis(end: number): HTMLElement {
  const element = html("div", { class: "axis", "aria-hidden": "true" });
  const step = round(end / 8);
  for (let tick = 0; tick * step <= end * 1.001; tick++) {
    const share = (tick * step) / Math.max(end, 1);
    const text = html("span", { class: tick === 0 ? "first" : share > 0.96 ? "last" : "" }, tick === 0 ? "0" : time(tick * step));
    text.style.setProperty("--x", `${100 * share}%`);
    element.append(text);
  }
  return element;
}

function listed(data: Timeline, design: Shown): HTMLElement {
  const all = data.start.flatMap((start, row) => (start !== null && data.task[row] === "" ? [row] : []));
  const rows = all.slice(0, 200).map((row) => {
    const phase = data.phases[data.phase[row]];
    const name = [data.jobs[data.job[row]], phase === "job" ? "" : named("phase", phase)].filter((word) => word !== "");
    const [start, done] = [data.start[row]!, data.finish[row]];
    return [list(name), time(start), done === null ? say("unfinished") : time(done), done === null ? "–" : time(done - start)];
  });
  const caption = say(all.length > 200 ? "jobs.firstRows" : "jobs.rows", { design: design.name });
  return table(caption, [say("jobs.job"), say("jobs.start"), say("jobs.finish"), say("jobs.duration")], rows);
}

// Groups successive steps of one task into chains. Other bars are chains of one.
function chained(data: Timeline, bars: Bar[], gap: number): Bar[][] {
  const found: Bar[][] = [];
  for (const bar of [...bars].sort((a, b) => a.start - b.start || a.finish - b.finish || a.row - b.row)) {
    const same = (other: Bar): boolean => data.task[other.row] === data.task[bar.row] && data.job[other.row] === data.job[bar.row];
    const follows = (other: Bar): boolean => STEPS.includes(data.phases[data.phase[other.row]]) && same(other) && Math.abs(bar.start - other.finish) <= gap;
    const before = found.find((chain) => follows(chain[chain.length - 1]));
    if (before) before.push(bar);
    else found.push([bar]);
  }
  return found;
}

// Packs the chains into as few lanes as possible: each goes into the first free lane.
function pack(chains: Bar[][]): Bar[][] {
  const lanes: Bar[][] = [];
  for (const chain of chains) {
    let lane = lanes.findIndex((bars) => bars[bars.length - 1].finish <= chain[0].start);
    if (lane < 0) lane = lanes.push([]) - 1;
    lanes[lane].push(...chain);
  }
  return lanes;
}
