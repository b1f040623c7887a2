// Job timelines: what ran when, and where.
import type { Design, Timeline } from "./data";
import { details, html, svg, table } from "./dom";
import { type Extent, extentChoice, extentNote } from "./extent";
import { count, time } from "./format";
import { list, say } from "./words";

const WIDTH = 1000;
// What stays when the language is changed.
const state = { extent: { whole: false } as Extent };

interface Bar {
  row: number;
  start: number;
  finish: number;
}

export function timelines(all: (Timeline | null)[], designs: Design[]): HTMLElement[] {
  const last = Math.max(...all.map((one) => one?.end ?? 0));
  // All designs are shown until the same time: the latest of theirs.
  const busy = Math.max(...all.map((one) => (one ? (one.until ?? one.end) : 0)));
  const until = busy < last ? busy : null;
  // Phases have one colour in all designs.
  const phases = [...new Set(all.flatMap((one) => one?.phases ?? []))];
  const box = html("div");
  const note = html("p", { class: "note" });
  const draw = (): void => {
    const end = state.extent.whole ? last : busy;
    box.replaceChildren(...all.flatMap((one, index) => (one ? [timeline(one, designs[index], end, phases)] : [])));
    note.textContent = extentNote(state.extent, until, last, null).join("");
  };
  draw();
  const controls = until === null ? [] : [html("div", { class: "controls" }, ...extentChoice(state.extent, true, draw))];
  const named = phases.filter((phase) => phase !== "");
  const legend = named.length > 1 ? [html("p", { class: "readout" }, ...named.map((phase) => html("span", { class: "entry" }, html("span", { class: `swatch series-${phases.indexOf(phase) % 8}` }), phase)))] : [];
  return [...controls, ...legend, box, ...(until === null ? [] : [note])];
}

function timeline(data: Timeline, design: Design, end: number, phases: string[]): HTMLElement {
  const every: Bar[] = data.start.flatMap((start, row) => (start === null ? [] : [{ row, start, finish: data.finish[row] ?? data.end }]));
  const bars = every.filter((bar) => bar.start < end || end >= data.end);
  const isTask = (bar: Bar): boolean => data.task[bar.row] !== "";
  const tasks = bars.filter(isTask);
  const wholes = bars.filter((bar) => !isTask(bar));
  // Jobs and phases above, then the tasks node by node.
  const lanes = [...pack(wholes)];
  const nodes = [...new Set(tasks.map((bar) => data.node[bar.row]))].sort((a, b) => a - b);
  const first: { lane: number; node: number }[] = [];
  for (const node of nodes) {
    first.push({ lane: lanes.length, node });
    lanes.push(...pack(tasks.filter((bar) => data.node[bar.row] === node)));
  }
  const laneHeight = Math.min(16, Math.max(2.5, 420 / lanes.length));
  const height = lanes.length * laneHeight + 24;
  const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: "timeline", role: "img", "aria-label": say("jobs.drawing", { design: design.name, bars: bars.length, time: time(data.end) }) });
  const at = (ns: number): number => (ns / Math.max(end, 1)) * (WIDTH - 4) + 2;
  const step = round(end / 8);
  for (let tick = 0; tick * step <= end; tick++) {
    const x = at(tick * step);
    drawing.append(svg("line", { x1: x, x2: x, y1: 0, y2: height - 20, class: "tick" }));
    const anchor = tick === 0 ? "start" : x > WIDTH - 30 ? "end" : "middle";
    drawing.append(svg("text", { x, y: height - 4, "text-anchor": anchor }, tick === 0 ? "0" : time(tick * step)));
  }
  for (const { lane, node } of first)
    if (lane > 0 && nodes.length > 1) drawing.append(svg("line", { x1: 0, x2: WIDTH, y1: lane * laneHeight, y2: lane * laneHeight, class: "node" }, svg("title", {}, say("jobs.node", { node: data.names[node] ?? node }))));
  lanes.forEach((lane, place) => {
    for (const bar of lane) {
      const phase = data.phases[data.phase[bar.row]];
      const words = [data.jobs[data.job[bar.row]], phases.length > 1 ? phase : "", data.task[bar.row], data.node[bar.row] >= 0 ? say("jobs.node", { node: data.names[data.node[bar.row]] ?? data.node[bar.row] }) : ""].filter((word) => word !== "");
      const unfinished = data.finish[bar.row] === null;
      const text = say(unfinished ? "jobs.barUnfinished" : "jobs.bar", { what: list(words), start: time(bar.start), finish: time(bar.finish), duration: time(bar.finish - bar.start) });
      // One that goes on is cut at the edge.
      const box = { x: at(bar.start), y: place * laneHeight + 0.5, width: Math.max(Math.min(at(bar.finish), WIDTH) - at(bar.start), 0.8), height: Math.max(laneHeight - 1, 1.5) };
      drawing.append(svg("rect", { ...box, class: `${phase === "" ? "whole" : `series-${phases.indexOf(phase) % 8}`}${unfinished ? " unfinished" : ""}` }, svg("title", {}, text)));
      const label = isTask(bar) ? "" : words.slice(0, 2).join(" ");
      if (laneHeight >= 12 && box.width > 8 * label.length && label) drawing.append(svg("text", { x: box.x + 5, y: box.y + laneHeight - 5, class: "on-bar" }, label));
    }
  });
  const all = every.filter((bar) => !isTask(bar));
  const listed = all.slice(0, 200).map((bar) => {
    const name = [data.jobs[data.job[bar.row]], phases.length > 1 ? data.phases[data.phase[bar.row]] : ""].filter((word) => word !== "").join(", ");
    const done = data.finish[bar.row];
    return [name, time(bar.start), done === null ? say("unfinished") : time(done), done === null ? "–" : time(done - bar.start)];
  });
  const left = data.total > data.start.length ? say("jobs.left", { drawn: count(data.start.length), total: count(data.total) }) : "";
  return html(
    "figure",
    { class: "wide" },
    html("figcaption", {}, `${say("jobs.of", { design: design.name, seed: data.seed })}${nodes.length ? say("jobs.lanes", { nodes: nodes.length }) : ""}${left}`),
    html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": say("jobs.timeline", { design: design.name }) }, drawing),
    details(say("numbers"), table(say(all.length > 200 ? "jobs.firstRows" : "jobs.rows", { design: design.name }), [say("jobs.job"), say("jobs.start"), say("jobs.finish"), say("jobs.duration")], listed)),
  );
}

// The next of 1, 2, 5, 10, 20 … that is not smaller.
function round(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return power * (value <= power ? 1 : value <= 2 * power ? 2 : value <= 5 * power ? 5 : 10);
}

// As few lanes as possible: each bar into the first one that is free.
function pack(bars: Bar[]): Bar[][] {
  const lanes: Bar[][] = [];
  const ends: number[] = [];
  for (const bar of [...bars].sort((a, b) => a.start - b.start || b.finish - a.finish || a.row - b.row)) {
    let lane = ends.findIndex((end) => end <= bar.start);
    if (lane < 0) lane = lanes.push([]) - 1;
    lanes[lane].push(bar);
    ends[lane] = bar.finish;
  }
  return lanes;
}
