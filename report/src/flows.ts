// Notable flows: a table of them, and the paths and the time split of the chosen flow.
import type { Flows } from "./data";
import { choice, html, table } from "./dom";
import { count, percent, ratio, size, time } from "./format";
import { stack } from "./split";
import { type Key, counted, list, say, sentences } from "./words";

type Kind = keyof Flows["kinds"];

const COUNTED = [["packets_sent", "flow.sent"], ["packets_retransmitted", "flow.retransmissions"], ["timeouts", "flow.timedOut"], ["ecn_marked", "flow.marked"]] as const;

const state = { kind: "slowest" as Kind };

export function flowTable(flows: Flows, chosen: number | null, choose: (row: number) => void): HTMLElement[] {
  const columns = flows.columns;
  const kinds = (Object.keys(flows.kinds) as Kind[]).filter((kind) => flows.kinds[kind].length > 0);
  if (!kinds.includes(state.kind)) state.kind = kinds[0] ?? "slowest";
  const box = html("div");
  const draw = (): void => {
    const head = ["id", "from", "to", "class", "size", "start", "fct", "slowdown", "repeated", "timeouts"].map((name) => say(`flow.${name}` as Key));
    const made = html("table", {}, html("caption", {}, say(`flows.${state.kind}.caption`, { shown: count(flows.kinds[state.kind].length), all: count(flows.flows) })));
    made.append(html("thead", {}, html("tr", {}, ...head.map((text) => html("th", { scope: "col" }, text)))));
    const body = html("tbody");
    for (const row of flows.kinds[state.kind]) {
      const fct = columns.fct_ns[row];
      const slowdown = columns.slowdown[row];
      const button = html("button", { type: "button", class: "link", "aria-pressed": String(row === chosen) }, String(columns.id[row]));
      const cells = [
        columns.from[row],
        columns.to[row],
        columns.class[row] || "–",
        size(columns.bytes[row]),
        time(columns.start_ns[row]),
        fct === null ? say("unfinished") : time(fct),
        slowdown === null ? "–" : ratio(slowdown),
        count(columns.packets_retransmitted[row]),
        columns.timeouts[row] === null ? "–" : count(columns.timeouts[row]),
      ];
      body.append(
        html(
          "tr",
          { "data-row": row, class: row === chosen ? "pick picked" : "pick", click: () => choose(row) },
          html("th", { scope: "row" }, button),
          ...cells.map((text) => html("td", {}, text)),
        ),
      );
    }
    made.append(body);
    box.replaceChildren(html("div", { class: "scroll tall", tabindex: 0, role: "region", "aria-label": say("flows.title") }, made));
  };
  draw();
  const options = kinds.map((kind): [string, string] => [kind, say(`flows.${kind}`)]);
  return [
    html("h3", {}, say("flows.title")),
    html("p", { class: "note" }, say("flows.click")),
    ...(options.length > 1 ? [html("div", { class: "controls" }, choice(say("flows.which"), options, state.kind, (value) => ((state.kind = value as Kind), draw())))] : []),
    box,
  ];
}

// Returns the description of one flow.
export function flowText(flows: Flows, row: number, close: () => void): HTMLElement[] {
  const columns = flows.columns;
  const fct = columns.fct_ns[row];
  const values = { id: columns.id[row], from: columns.from[row], to: columns.to[row], size: size(columns.bytes[row]), start: time(columns.start_ns[row]) };
  const slowdown = columns.slowdown[row];
  const done = (fct: number): string => (slowdown === null ? say("flow.completed", { ...values, fct: time(fct) }) : say("flow.finished", { ...values, fct: time(fct), slowdown: ratio(slowdown) }));
  const said = fct === null ? say("flow.unfinished", values) : done(fct);
  const known = COUNTED.flatMap(([column, key]) => (columns[column][row] === null ? [] : [counted(key, columns[column][row], count(columns[column][row]))]));
  const counts = say("flow.counts", { what: list(known) });
  const found: HTMLElement[] = [html("h3", {}, say("flow.title", { id: columns.id[row] })), html("p", {}, sentences([said, counts]))];
  const parts = flows.split && Object.entries(flows.split).map(([label, of]): [string, number | null] => [label, of[row]]);
  if (columns.timeouts[row] === null) found.push(html("p", { class: "note" }, say("flow.kernel")));
  else if (!parts) found.push(html("p", { class: "note" }, say("flow.noSplit")));
  else if (fct !== null) {
    const labels = parts.map(([label]) => label);
    const shares = parts.map(([, ns]) => (ns ?? 0) / Math.max(fct, 1));
    const rows = parts.filter(([, ns]) => ns).map(([label, ns]) => [say(`part.${label}` as Key), time(ns ?? 0), percent((ns ?? 0) / Math.max(fct, 1))]);
    found.push(html("p", { class: "label" }, say("flow.split")), stack(labels, shares, (at) => percent(Math.round(100 * shares[at]) / 100)), table(say("flow.splitCaption"), [say("split.part"), say("split.time"), say("split.share")], rows));
  }
  const paths = flows.paths?.[row];
  if (!flows.paths) found.push(html("p", { class: "note" }, say("flow.noPaths")));
  else if (paths && paths.all) {
    const several = paths.paths.some((path) => path.subflow > 0);
    const head = [say("flow.path"), ...(several ? [say("flow.subflow")] : []), say("flow.frames"), say("flow.bytes")];
    const rows = paths.paths.map((path) => [path.nodes.join(" › "), ...(several ? [String(path.subflow)] : []), count(path.frames), size(path.bytes)]);
    found.push(table(say(paths.all > paths.paths.length ? "flow.somePaths" : "flow.paths", { shown: paths.paths.length, all: paths.all }), head, rows));
  } else found.push(html("p", { class: "note" }, say("flow.noFrames")));
  found.push(html("p", { class: "buttons" }, html("button", { type: "button", click: close }, say("flow.close"))));
  return found;
}
