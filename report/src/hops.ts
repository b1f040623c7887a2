// State at each hop of a followed flow's path at the shown time: the queue, and the time to send
// it.
import type { Fabric } from "./data";
import { html } from "./dom";
import { percent, size, time } from "./format";
import type { Moments } from "./moments";
import { say } from "./words";

export interface Hops {
  element: HTMLElement;
  show: (hops: number[], fabric: Fabric, moments: Moments, frame: number, clock: string, sending: boolean) => void;
}

export function hopsBox(): Hops {
  const title = html("p", { class: "label" });
  const rows = html("div", { class: "hops" });
  const element = html("div", {}, title, rows);
  const show: Hops["show"] = (hops, fabric, moments, frame, clock, sending) => {
    element.hidden = !hops.length;
    title.textContent = say(sending ? "hops.title" : "hops.idle", { time: clock });
    const waits = hops.map((direction) => {
      const queue = moments.queue(direction, frame);
      return queue === null ? null : (queue * 8e9) / fabric.rate[direction];
    });
    // One scale for the whole run.
    const longest = Math.max(...hops.map((direction) => (moments.longest * 8e9) / fabric.rate[direction]), 1);
    rows.replaceChildren(
      ...hops.flatMap((direction, place) => {
        const link = direction >> 1;
        const ends = [fabric.a[link], fabric.b[link]];
        const [from, to] = direction % 2 ? ends.reverse() : ends;
        const wait = waits[place];
        const bar = html("i");
        bar.style.setProperty("--w", `${wait === null ? 0 : (100 * wait) / longest}%`);
        const used = moments.used(direction, frame);
        const what = wait === null ? say("hops.unknown") : say("hops.queue", { queue: size(moments.queue(direction, frame) ?? 0), wait: time(wait), used: percent(used ?? 0) });
        return [html("span", {}, `${fabric.nodes[from]} › ${fabric.nodes[to]}`), html("span", { class: "hbar", "aria-hidden": "true" }, bar), html("span", { class: "num" }, what)];
      }),
    );
  };
  return { element, show };
}
