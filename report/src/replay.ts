// The replay: the drawing of the fabric, a time slider, and the chosen port, node or flow.
import type { Counter, Fabric, Flows, Report } from "./data";
import { choice, chooser, html, table } from "./dom";
import { type Choice, Drawing, type Scene } from "./drawing";
import { colourOf, distinct } from "./alike";
import { type Extent, extentChoice, extentNote } from "./extent";
import { flowTable, flowText } from "./flows";
import { type Show, count, percent, rate, size, time } from "./format";
import { hopsBox } from "./hops";
import { isHost } from "./layout";
import { Moments } from "./moments";
import { Multiples } from "./multiples";
import { showPort } from "./ports";
import { type Shown, shade, valueAt } from "./scale";
import { colour, isPrinting, onTheme } from "./theme";
import { type Key, list, say, sentences } from "./words";

// State that is kept when the language changes.
const state = { design: 0, frame: 0, shown: "rate" as Shown, speed: "1", choice: null as Choice, flow: null as number | null, extent: { whole: false } as Extent };
const TICK = 80;

export function replay(report: Report): HTMLElement[] {
  const names = report.designs.map((design) => design.name);
  const tip = html("div", { class: "tip", hidden: true });
  const drawing = new Drawing(choose, hover);
  const slider = html("input", { type: "range", min: 0, step: 1, value: 0, class: "slider", "aria-label": say("replay.time"), input: () => move(Number(slider.value)), keydown: (event) => key(event as KeyboardEvent) });
  const clock = html("output", { class: "clock" });
  const play = html("button", { type: "button", class: "play", click: () => (timer ? stop() : start()) });
  const activity = html("canvas", { class: "activity", "aria-hidden": "true" });
  const legend = html("div", { class: "scale" });
  const panel = html("div", { class: "chosen", role: "region", "aria-label": say("replay.chosen") });
  const flowsBox = html("div", { class: "flows" });
  const flowBox = html("div", { class: "flow-text", "aria-live": "polite" });
  const hops = hopsBox();
  const lead = html("p", { class: "lead" });
  const note = html("p", { class: "note" });
  const how = html("p", { class: "note how" });
  const now = html("p", { class: "now" });
  let timer = 0;
  let fabric: Fabric;
  let moments: Moments;
  let flows: Flows;
  let ports: { node: number; port: number; name: string }[];
  let flowPath: Scene["flow"] = null;

  function design(index: number): void {
    state.design = index;
    const run = report.replay.runs[index];
    // A chosen port or node of another fabric does not exist in this one.
    if (fabric && fabric !== report.replay.fabrics[run.fabric]) state.choice = null;
    fabric = report.replay.fabrics[run.fabric];
    // Keep the chosen flow if this design lists it too.
    if (flows && state.flow !== null) {
      const row = report.flows[index].columns.id.indexOf(flows.columns.id[state.flow]);
      state.flow = row < 0 ? null : row;
    }
    flowPath = null;
    // Keep the shown time, if it is within the shown period.
    const before = moments ? (state.frame + 0.5) * moments.frameNs : null;
    moments = new Moments(run, state.extent.whole);
    if (before !== null) state.frame = Math.floor(before / moments.frameNs);
    flows = report.flows[index];
    ports = portsOf(fabric);
    state.frame = Math.min(state.frame, moments.frames - 1);
    slider.max = String(moments.frames - 1);
    const still = run.ports === null;
    slider.disabled = play.disabled = still;
    timeBox.hidden = speedBox.hidden = still;
    const said = [run.ports ? say("replay.of", { seed: run.seed }) : say("replay.still", { seed: run.seed })];
    if (run.ports) {
      said.push(...extentNote(state.extent, run.ports.views[1] ? run.ports.views[0].end_ns : null, run.end, run.ports.share));
      said.push(run.ports.interval_ns < moments.frameNs ? say("replay.downsampled", { recorded: time(run.ports.interval_ns), shown: time(moments.frameNs) }) : say("replay.asRecorded", { every: time(moments.frameNs) }));
      const shown = moments.directions.length;
      if (shown < 2 * fabric.a.length) said.push(say(shown < run.ports.recorded ? "replay.somePorts" : "replay.recordedPorts", { shown: count(shown), recorded: count(run.ports.recorded), all: count(2 * fabric.a.length) }));
    }
    note.textContent = sentences([...said, say("replay.cables"), ...(still ? [] : [say("replay.strip"), say("replay.dots")])]);
    how.textContent = still ? "" : say("replay.keys");
    flowsBox.replaceChildren(...flowTable(flows, state.flow, chooseFlow));
    if (!timer) play.textContent = say("replay.play");
    lead.textContent = leadOf();
    legends();
    choose(state.choice);
    chooseFlow(state.flow, false);
    move(state.frame);
  }

  // Returns a sentence on the longest queue of the run with its place and time, or on the busiest
  // link if queues are unknown.
  function leadOf(): string {
    let most = { value: 0, direction: 0, frame: 0 };
    const still = report.replay.runs[state.design].ports === null;
    for (const direction of still ? ports.keys() : moments.directions)
      for (let frame = 0; frame < moments.frames; frame++) {
        const value = (still ? moments.used(direction, frame) : moments.queue(direction, frame)) ?? 0;
        if (value > most.value) most = { value, direction, frame };
      }
    if (!most.value) return "";
    const words = { design: names[state.design], port: ports[most.direction].name, time: time(Math.min((most.frame + 1) * moments.frameNs, moments.end)) };
    return still ? say("replay.leadStill", { ...words, value: percent(most.value) }) : say("replay.lead", { ...words, value: size(most.value) });
  }

  function scene(): void {
    drawing.show({ fabric, moments, frame: state.frame, shown: state.shown, choice: state.choice, flow: flowPath && { ...flowPath, sending: sending() } });
  }

  // Returns the frames in which the chosen flow is active.
  function life(): [number, number] | null {
    if (state.flow === null || report.replay.runs[state.design].ports === null) return null;
    const start = flows.columns.start_ns[state.flow];
    const fct = flows.columns.fct_ns[state.flow];
    const at = (ns: number): number => Math.min(Math.max(Math.floor(ns / moments.frameNs), 0), moments.frames - 1);
    return [at(start), fct === null ? moments.frames - 1 : at(start + fct)];
  }

  function sending(): boolean {
    const span = life();
    return span !== null && state.frame >= span[0] && state.frame <= span[1];
  }

  function move(frame: number): void {
    state.frame = frame;
    slider.value = String(frame);
    const until = Math.min((frame + 1) * moments.frameNs, moments.end);
    clock.textContent = time(until);
    slider.setAttribute("aria-valuetext", time(until));
    drawing.element.setAttribute("aria-label", say("replay.drawing", { design: names[state.design], time: time(until), hosts: fabric.hosts, switches: fabric.nodes.length - fabric.hosts }));
    scene();
    strip();
    tellNow();
    follow();
  }

  // Shows the state at each hop of the chosen flow at this time.
  function follow(): void {
    hops.show(flowPath?.hops ?? [], fabric, moments, state.frame, clock.textContent ?? "", sending());
  }

  // Starts the replay. With a chosen flow, it runs from the flow's start to its end.
  function start(): void {
    const span = life();
    if (span && (state.frame < span[0] || state.frame >= span[1])) move(span[0]);
    else if (state.frame >= moments.frames - 1) move(0);
    timer = window.setInterval(() => {
      const last = life()?.[1] ?? moments.frames - 1;
      if (!slider.isConnected || state.frame >= moments.frames - 1 || state.frame === last) return stop();
      move(Math.min(state.frame + Math.max(Number(state.speed), 1), moments.frames - 1));
    }, TICK / Math.min(Number(state.speed), 1));
    play.textContent = say("replay.pause");
  }

  function stop(): void {
    clearInterval(timer);
    timer = 0;
    play.textContent = say("replay.play");
  }

  function key(event: KeyboardEvent): void {
    if (event.key !== " ") return;
    event.preventDefault();
    play.click();
  }

  // Draws the activity over time: the longest queue and the busiest link of each frame, and drops
  // below.
  function strip(): void {
    const run = report.replay.runs[state.design].ports;
    const width = isPrinting() ? 500 : activity.clientWidth;
    if (!run || width < 20) return;
    const ratio = Math.max(devicePixelRatio, 1);
    const height = 34;
    activity.width = width * ratio;
    activity.height = height * ratio;
    const pen = activity.getContext("2d")!;
    pen.scale(ratio, ratio);
    const step = width / moments.frames;
    busiest().forEach(({ used, queue, drops }, frame) => {
      const level = state.shown === "rate" ? used : moments.longest ? queue / moments.longest : 0;
      pen.fillStyle = shade(state.shown, 0.35 + 0.6 * level);
      pen.fillRect(frame * step, height - 7 - level * (height - 8), Math.max(step, 0.8), level * (height - 8));
      if (drops) {
        pen.fillStyle = colour("focus");
        pen.fillRect(frame * step, height - 5, Math.max(step, 1), 5);
      }
    });
    const chosen = state.flow;
    if (chosen !== null) {
      const from = flows.columns.start_ns[chosen];
      const fct = flows.columns.fct_ns[chosen];
      const whole = moments.frames * moments.frameNs;
      const [x, end] = [from, fct === null ? report.replay.runs[state.design].end : from + fct].map((ns) => (ns / whole) * width);
      pen.strokeStyle = colour("path");
      pen.lineWidth = 2;
      pen.strokeRect(x, 1, Math.max(end - x, 2), height - 2);
    }
    pen.fillStyle = colour("ink");
    pen.fillRect((state.frame + 0.5) * step - 1, 0, 2, height);
  }

  const summed = new Map<object, { used: number; queue: number; drops: number }[]>();
  function busiest(): { used: number; queue: number; drops: number }[] {
    let found = summed.get(moments);
    if (!found) {
      const directions = moments.directions;
      found = Array.from({ length: moments.frames }, (_, frame) => {
        const one = { used: 0, queue: 0, drops: 0 };
        for (const direction of directions) {
          one.used = Math.max(one.used, moments.used(direction, frame) ?? 0);
          one.queue = Math.max(one.queue, moments.queue(direction, frame) ?? 0);
          one.drops += moments.counted(direction, "d", frame);
        }
        return one;
      });
      summed.set(moments, found);
    }
    return found;
  }

  function legends(): void {
    const ramp = (shown: Shown, title: string, show: Show): HTMLElement => {
      const bar = html("span", { class: "ramp", "aria-hidden": "true" });
      bar.style.background = `linear-gradient(to right, ${Array.from({ length: 9 }, (_, at) => shade(shown, at / 8)).join(", ")})`;
      const ticks = [0, 0.5, 1].map((at) => html("span", {}, show(valueAt(shown, at, moments.longest))));
      return html("div", { class: "legend" }, html("span", { class: "legend-title" }, title), bar, html("span", { class: "ticks" }, ...ticks));
    };
    const queue = moments.longest > 0;
    const parts = [ramp("rate", say(report.replay.runs[state.design].ports ? "replay.rate" : "replay.rateWhole"), percent)];
    if (queue) parts.push(ramp("queue", say("replay.queue"), size));
    const marks = [html("span", { class: "entry" }, html("span", { class: "dashes", "aria-hidden": "true" }), say("replay.legend.none"))];
    if (report.replay.runs[state.design].ports) marks.unshift(html("span", { class: "entry" }, "✕ ", say("replay.legend.drops")));
    if (queue) marks.unshift(html("span", { class: "entry" }, html("span", { class: "pile", "aria-hidden": "true" }), say("replay.legend.queue")));
    legend.replaceChildren(...parts, html("div", { class: "readout" }, ...marks));
    shownBox.hidden = !queue;
  }

  function hover(found: Choice, x: number, y: number): void {
    tip.hidden = !found;
    if (!found) return;
    const lines = found.kind === "node" ? [fabric.nodes[found.node]] : [ports[found.direction].name, ...momentOf(found.direction)];
    tip.replaceChildren(...lines.map((line) => html("div", {}, line)));
    const width = drawing.element.clientWidth;
    tip.style.top = `${y + 14}px`;
    tip.style.left = x > width / 2 ? "" : `${x + 12}px`;
    tip.style.right = x > width / 2 ? `${width - x + 12}px` : "";
  }

  // Returns a description of a port at the shown time.
  function momentOf(direction: number): string[] {
    const used = moments.used(direction, state.frame);
    if (used === null) return [say("replay.portNot"), say("replay.mean", { value: percent(moments.mean(direction)) })];
    if (!report.replay.runs[state.design].ports) return [say("replay.mean", { value: percent(used) })];
    const parts = [`${say("replay.rate")} ${percent(used)}`, `${say("replay.queue")} ${size(moments.queue(direction, state.frame) ?? 0)}`];
    for (const [counter, word] of COUNTERS) {
      const counted = moments.counted(direction, counter, state.frame);
      if (counted) parts.push(`${say(word)} ${count(counted)}`);
    }
    return parts;
  }

  function tellNow(): void {
    const chosen = state.choice;
    now.textContent = chosen?.kind === "port" ? say("replay.now", { time: clock.textContent ?? "", what: list(momentOf(chosen.direction)) }) : "";
  }

  function choose(chosen: Choice): void {
    state.choice = chosen;
    if (!chosen) panel.replaceChildren(html("h3", {}, say("replay.chosen")), html("p", { class: "note" }, say("replay.choose")), portChoice(-1));
    else if (chosen.kind === "node") panel.replaceChildren(...nodePanel(chosen.node));
    else panel.replaceChildren(...portPanel(chosen.direction));
    tellNow();
    scene();
  }

  // Returns a selection of ports for use without a mouse: node, then port.
  function portChoice(direction: number): HTMLElement {
    const select = html("select", { change: () => choose(select.value === "" ? null : { kind: "port", direction: Number(select.value) }) });
    select.append(html("option", { value: "" }, say("replay.none")));
    const sorted = ports.map((port, at) => ({ ...port, at })).sort((one, other) => Number(isHost(fabric, one.node)) - Number(isHost(fabric, other.node)) || one.node - other.node || one.port - other.port);
    for (const port of sorted) select.append(html("option", { value: port.at, selected: port.at === direction }, port.name));
    return html("label", { class: "selection" }, html("span", {}, say("ports.port")), select);
  }

  function nodePanel(node: number): HTMLElement[] {
    const own = ports.map((port, direction) => ({ ...port, direction })).filter((port) => port.node === node).sort((one, other) => one.port - other.port);
    const head = ["replay.column.port", "replay.column.mean", "replay.column.drops", "replay.column.marks", "replay.column.pauses"] as Key[];
    const rows = own.map((port): (string | Node)[] => {
      const button = html("button", { type: "button", class: "link", click: () => choose({ kind: "port", direction: port.direction }) }, port.name.slice(fabric.nodes[node].length + 1));
      const totals = moments.recorded(port.direction) ? COUNTERS.map(([counter]) => count(moments.total(port.direction, counter))) : COUNTERS.map(() => "–");
      return [button, percent(moments.mean(port.direction)), ...totals];
    });
    return [html("h3", {}, fabric.nodes[node]), table(say("replay.nodePorts", { node: fabric.nodes[node] }), head.map((key) => say(key)), rows)];
  }

  function portPanel(direction: number): HTMLElement[] {
    const port = ports[direction];
    const head = html("h3", {}, port.name);
    const facts = [say("replay.port", { rate: rate(fabric.rate[direction]), mean: percent(moments.mean(direction)) })];
    const other = html("button", { type: "button", click: () => choose({ kind: "port", direction: direction ^ 1 }) }, say("replay.other", { port: ports[direction ^ 1].name }));
    if (!moments.recorded(direction)) {
      const why = report.replay.runs[state.design].ports ? say("replay.portMissing") : say("replay.portsMissing");
      return [head, html("p", {}, sentences(facts)), html("p", { class: "note" }, why), other, portChoice(direction)];
    }
    facts.push(...COUNTERS.flatMap(([counter, word]) => (moments.total(direction, counter) ? [say("replay.total", { what: say(word), value: count(moments.total(direction, counter)) })] : [])));
    const x = Array.from({ length: moments.frames }, (_, frame) => (frame + 1) * moments.frameNs);
    const chart = (title: string, show: Show, values: number[], steps: boolean): HTMLElement => {
      const made = new Multiples();
      made.show({ x, panels: [{ name: names[state.design], colour: colourOf(report, state.design), text: "", values }], showX: time, showY: show, steps });
      return html("figure", { class: "small" }, html("figcaption", {}, title), made.element);
    };
    const frames = x.map((_, frame) => frame);
    const charts = [
      chart(say("replay.queueChart"), size, frames.map((frame) => moments.queue(direction, frame) ?? 0), false),
      chart(say("replay.rateChart"), percent, frames.map((frame) => moments.used(direction, frame) ?? 0), false),
    ];
    for (const [counter, word] of COUNTERS)
      if (moments.total(direction, counter)) charts.push(chart(say("replay.countChart", { what: say(word) }), count, frames.map((frame) => moments.counted(direction, counter, frame)), true));
    const every = showPort(port.name);
    const more = every ? [html("button", { type: "button", click: every }, say("replay.everySeries"))] : [];
    return [head, html("p", {}, sentences(facts)), now, html("div", { class: "charts" }, ...charts), html("p", { class: "buttons" }, ...more, other), portChoice(direction)];
  }

  // Shows the flow from its start, unless it was chosen before.
  function chooseFlow(row: number | null, fresh = true): void {
    state.flow = row;
    flowPath = pathOf();
    flowsBox.querySelectorAll("tr[data-row]").forEach((line) => {
      const own = (line as HTMLElement).dataset.row === String(row);
      line.classList.toggle("picked", own);
      line.querySelector("button")?.setAttribute("aria-pressed", String(own));
    });
    const followed = row === null ? [] : flowText(flows, row, () => chooseFlow(null));
    flowBox.replaceChildren(...followed.slice(0, 2), ...(row === null ? [] : [hops.element]), ...followed.slice(2));
    flowBox.hidden = row === null;
    const span = life();
    if (fresh && row !== null && stage.getBoundingClientRect().bottom < 80) stage.scrollIntoView();
    if (fresh && span && !timer) return move(span[0]);
    scene();
    strip();
    follow();
  }

  // Returns the share of the chosen flow's frames over each direction of a link. If two nodes have
  // several links, the path does not determine which one was used.
  function pathOf(): Scene["flow"] {
    if (state.flow === null) return null;
    const place = new Map(fabric.nodes.map((name, node) => [name, node]));
    const directions = new Map<number, number>();
    const nodes = new Set<number>([flows.columns.from[state.flow], flows.columns.to[state.flow]].flatMap((name) => place.get(name) ?? []));
    const between = new Map<string, number[]>();
    ports.forEach((port, direction) => {
      const key = `${port.node} ${ports[direction ^ 1].node}`;
      between.set(key, [...(between.get(key) ?? []), direction]);
    });
    const paths = flows.paths?.[state.flow];
    const hops: number[] = [];
    for (const path of paths?.paths ?? []) {
      const on = path.nodes.map((name) => place.get(name) ?? -1);
      for (const node of on) nodes.add(node);
      // The path with the most frames is followed hop by hop.
      if (!hops.length) for (let hop = 1; hop < on.length; hop++) hops.push(...(between.get(`${on[hop - 1]} ${on[hop]}`) ?? []).slice(0, 1));
      for (let hop = 1; hop < on.length; hop++)
        for (const direction of between.get(`${on[hop - 1]} ${on[hop]}`) ?? []) directions.set(direction, (directions.get(direction) ?? 0) + path.frames / Math.max(paths?.frames ?? 1, 1));
    }
    return { directions, nodes, hops, sending: false };
  }

  onTheme(() => {
    legends();
    scene();
    strip();
  });
  new ResizeObserver(() => strip()).observe(activity);
  const designs = distinct(report).map(({ index, name }): [string, string] => [String(index), name]);
  const shownBox = html("div", {}, choice(say("replay.colours"), [["rate", say("replay.rate")], ["queue", say("replay.queue")]], state.shown, (value) => ((state.shown = value as Shown), move(state.frame))));
  const speeds = ["0.25", "1", "4"].map((value): [string, string] => [value, `${value}×`]);
  const speedBox = html(
    "div",
    {},
    choice(say("replay.speed"), speeds, state.speed, (value) => {
      state.speed = value;
      if (timer) (stop(), start());
    }),
  );
  const extentBox = html("div");
  const offerExtent = (): void => extentBox.replaceChildren(...extentChoice(state.extent, report.replay.runs[state.design].ports?.views[1] !== undefined, () => design(state.design)));
  const controls = html(
    "div",
    { class: "controls" },
    ...(designs.length > 1 ? [chooser(say("design"), designs, String(state.design), (value) => (design(Number(value)), offerExtent()))] : []),
    shownBox,
    speedBox,
    extentBox,
  );
  const timeBox = html("div", { class: "time" }, play, html("div", { class: "track" }, activity, slider), clock);
  const stage = html("div", { class: "stage" }, drawing.element);
  drawing.element.append(tip);
  design(state.design);
  offerExtent();
  return [lead, controls, stage, timeBox, legend, html("div", { class: "below" }, flowsBox, html("div", {}, flowBox, panel)), note, how];
}

const COUNTERS: [Counter, Key][] = [["d", "replay.drops"], ["m", "replay.marks"], ["p", "replay.pauses"]];

// Returns the sending port of each direction. A node's ports are numbered in the order of its
// links.
function portsOf(fabric: Fabric): { node: number; port: number; name: string }[] {
  const used = new Array<number>(fabric.nodes.length).fill(0);
  return fabric.a.flatMap((a, link) => {
    const b = fabric.b[link];
    return [[a, b], [b, a]].map(([node, peer]) => {
      const port = used[node]++;
      return { node, port, name: `${fabric.nodes[node]} port ${port} → ${fabric.nodes[peer]}` };
    });
  });
}
