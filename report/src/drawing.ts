// Drawing of the fabric on a canvas: links and hosts coloured by their activity at an instant, and
// queues as bars at their ports.
import type { Fabric } from "./data";
import { html } from "./dom";
import { type Layout, isHost, layout } from "./layout";
import type { Moments } from "./moments";
import { type Shown, shade, share } from "./scale";
import { colour, isPrinting } from "./theme";

export type Choice = { kind: "port"; direction: number } | { kind: "node"; node: number } | null;

export interface Scene {
  fabric: Fabric;
  moments: Moments;
  frame: number;
  shown: Shown;
  choice: Choice;
  // Chosen flow: the share of its frames by direction, nodes on its paths, directions of its main
  // path in order, and whether it is active. Null: no flow is chosen.
  flow: { directions: Map<number, number>; nodes: Set<number>; hops: number[]; sending: boolean } | null;
}

const QUEUE = 18;
const NEAR = 6;

export class Drawing {
  readonly element: HTMLElement;
  private readonly canvas = html("canvas", { "aria-hidden": "true" });
  private place: Layout | null = null;
  private of: Fabric | null = null;
  private available = 0;
  private scene: Scene | null = null;
  // Directions in which a node's ports send, by node.
  private sending: number[][] = [];

  constructor(private readonly chosen: (choice: Choice) => void, hovered: (choice: Choice, x: number, y: number) => void) {
    this.element = html("div", { class: "fabric", tabindex: 0, role: "group", keydown: (event) => this.key(event as KeyboardEvent) }, this.canvas);
    this.canvas.addEventListener("click", (event) => chosen(this.at(event.offsetX, event.offsetY)));
    this.canvas.addEventListener("mousemove", (event) => {
      const found = this.at(event.offsetX, event.offsetY);
      this.canvas.style.cursor = found ? "pointer" : "default";
      hovered(found, event.offsetX - this.element.scrollLeft, event.offsetY);
    });
    this.canvas.addEventListener("mouseleave", () => hovered(null, 0, 0));
    new ResizeObserver(() => {
      if (this.scene && this.element.clientWidth !== this.available) this.show(this.scene);
    }).observe(this.element);
  }

  show(scene: Scene): void {
    this.scene = scene;
    const available = isPrinting() ? 680 : this.element.clientWidth;
    if (available < 50) return;
    if (scene.fabric !== this.of || available !== this.available) {
      this.place = layout(scene.fabric, available);
      this.of = scene.fabric;
      this.available = available;
      this.sending = scene.fabric.nodes.map(() => []);
      scene.fabric.a.forEach((a, link) => {
        this.sending[a].push(2 * link);
        this.sending[scene.fabric.b[link]].push(2 * link + 1);
      });
    }
    this.paint();
  }

  // Returns the host at an end of a direction.
  private host(direction: number): number {
    const fabric = this.of!;
    const link = direction >> 1;
    return isHost(fabric, fabric.a[link]) ? fabric.a[link] : fabric.b[link];
  }

  private paint(): void {
    const { scene, place } = this;
    if (!scene || !place) return;
    const ratio = isPrinting() ? 3 : Math.max(devicePixelRatio, 1);
    this.canvas.width = Math.round(place.width * ratio);
    this.canvas.height = Math.round(place.height * ratio);
    this.canvas.style.width = `${place.width}px`;
    this.canvas.style.height = `${place.height}px`;
    const pen = this.canvas.getContext("2d")!;
    pen.scale(ratio, ratio);
    pen.clearRect(0, 0, place.width, place.height);
    this.paintLinks(pen, scene, place);
    this.paintNodes(pen, scene, place);
    this.paintQueues(pen, scene, place);
  }

  // Returns the position on the scale from 0 to 1. Null: not recorded.
  private level(direction: number): number | null {
    const { moments, frame, shown } = this.scene!;
    const value = shown === "rate" ? moments.used(direction, frame) : moments.queue(direction, frame);
    return value === null ? null : share(shown, value, moments.longest);
  }

  private paintLinks(pen: CanvasRenderingContext2D, scene: Scene, place: Layout): void {
    const drawn = place.lines.flatMap((line, direction) => (line ? [{ line, direction, level: this.level(direction) }] : []));
    // Busy links are drawn on top.
    drawn.sort((one, other) => (one.level ?? -1) - (other.level ?? -1));
    const density = drawn.length / place.width;
    const width = density > 0.6 ? 1.2 : density > 0.17 ? 1.8 : 2.6;
    const stroke = (line: { x1: number; y1: number; x2: number; y2: number }): void => {
      pen.beginPath();
      pen.moveTo(line.x1, line.y1);
      pen.lineTo(line.x2, line.y2);
      pen.stroke();
    };
    for (const { line, direction, level } of drawn) {
      // If there are very many links, idle links are almost invisible.
      const seen = drawn.length > 400 ? 0.25 + 0.75 * Math.min(2 * (level ?? 0), 1) : 1;
      pen.globalAlpha = seen * (scene.flow && !scene.flow.directions.has(direction) ? 0.13 : 1);
      pen.strokeStyle = level === null ? colour("rule") : shade(scene.shown, level);
      pen.lineWidth = level === null ? 1 : width;
      pen.setLineDash(level === null ? [3, 3] : []);
      stroke(line);
    }
    pen.globalAlpha = 1;
    pen.setLineDash([]);
    const halo = (direction: number, paint: string, wide: number): void => {
      const line = place.lines[direction];
      if (!line) return;
      pen.strokeStyle = paint;
      pen.lineWidth = width + wide;
      stroke(line);
      const level = this.level(direction);
      pen.strokeStyle = level === null ? colour("bg") : shade(scene.shown, level);
      pen.lineWidth = Math.max(width, 2);
      stroke(line);
    };
    for (const [direction, part] of scene.flow?.directions ?? []) halo(direction, colour("path"), 2 + 5 * Math.sqrt(part));
    if (scene.flow?.sending) for (const [direction] of scene.flow.directions) this.paintFrames(pen, place.lines[direction], scene.frame);
    if (scene.choice?.kind === "port") halo(scene.choice.direction, colour("focus"), 5);
  }

  // Draws dots that move along a link while the chosen flow is active. They show the path and the
  // direction, not single frames, which are not recorded.
  private paintFrames(pen: CanvasRenderingContext2D, line: Layout["lines"][number], frame: number): void {
    if (!line) return;
    const length = Math.hypot(line.x2 - line.x1, line.y2 - line.y1);
    const gap = 22;
    for (let along = (frame * 7) % gap; along < length; along += gap) {
      const share = along / length;
      pen.beginPath();
      pen.arc(line.x1 + (line.x2 - line.x1) * share, line.y1 + (line.y2 - line.y1) * share, 3.4, 0, 2 * Math.PI);
      pen.fillStyle = colour("path");
      pen.fill();
      pen.strokeStyle = colour("bg");
      pen.lineWidth = 1.2;
      pen.stroke();
    }
  }

  private paintNodes(pen: CanvasRenderingContext2D, scene: Scene, place: Layout): void {
    const family = colour("font");
    pen.textBaseline = "middle";
    pen.textAlign = "left";
    pen.font = `12px ${family}`;
    pen.fillStyle = colour("muted");
    for (const row of place.rows) pen.fillText(row.tier === 0 ? "host" : row.name, 4, row.y, place.margin - 8);
    pen.textAlign = "center";
    const chosen = scene.choice?.kind === "node" ? scene.choice.node : scene.choice && !place.lines[scene.choice.direction] ? this.host(scene.choice.direction) : -1;
    place.boxes.forEach((box, node) => {
      const name = scene.fabric.nodes[node];
      const cell = place.packed && place.tiers[node] === 0;
      const onPath = scene.flow?.nodes.has(node) === true;
      pen.globalAlpha = scene.flow && !onPath ? 0.35 : 1;
      pen.fillStyle = colour("panel");
      if (cell) {
        // Colour by the traffic that its rack's switch sends to it.
        const levels = this.sending[node].map((direction) => this.level(direction ^ 1)).filter((level): level is number => level !== null);
        pen.fillStyle = levels.length ? shade(scene.shown, Math.max(...levels)) : colour("panel");
        pen.fillRect(box.x, box.y, box.width, box.height);
        if (!levels.length) {
          pen.strokeStyle = colour("rule");
          pen.lineWidth = 1;
          pen.strokeRect(box.x + 0.5, box.y + 0.5, box.width - 1, box.height - 1);
        }
      } else {
        pen.strokeStyle = colour("muted");
        pen.lineWidth = 1.2;
        pen.beginPath();
        pen.roundRect(box.x, box.y, box.width, box.height, Math.min(4, box.width / 4));
        pen.fill();
        pen.stroke();
        pen.fillStyle = colour("ink");
        pen.font = `${Math.min(12, box.height - 5)}px ${family}`;
        const number = /\d+$/.exec(name)?.[0] ?? "";
        const label = [name, number].find((text) => text && pen.measureText(text).width < box.width - 3);
        if (label) pen.fillText(label, box.x + box.width / 2, box.y + box.height / 2 + 0.5);
      }
      pen.globalAlpha = 1;
      if (onPath || node === chosen) {
        pen.strokeStyle = colour(node === chosen ? "focus" : "path");
        pen.lineWidth = 3;
        pen.strokeRect(box.x - 1, box.y - 1, box.width + 2, box.height + 2);
      }
    });
  }

  private paintQueues(pen: CanvasRenderingContext2D, scene: Scene, place: Layout): void {
    const { moments, frame } = scene;
    place.lines.forEach((line, direction) => {
      if (!line) return;
      const queue = moments.queue(direction, frame);
      const drops = moments.counted(direction, "d", frame);
      if (queue === null) return;
      const at = share("queue", queue, moments.longest);
      const wide = Math.max(Math.min(line.space - 1.5, 6), 1.2);
      pen.globalAlpha = scene.flow && !scene.flow.directions.has(direction) ? 0.2 : 1;
      if (at > 0) {
        const long = 2 + (QUEUE - 2) * at;
        const sideways = line.outY === 0;
        const x = sideways ? (line.outX > 0 ? line.x1 : line.x1 - long) : line.x1 - wide / 2;
        const y = sideways ? line.y1 - wide / 2 : line.outY > 0 ? line.y1 : line.y1 - long;
        pen.fillStyle = shade("queue", Math.max(at, 0.15));
        pen.strokeStyle = colour("ink");
        pen.lineWidth = wide > 3 ? 0.8 : 0.3;
        pen.fillRect(x, y, sideways ? long : wide, sideways ? wide : long);
        pen.strokeRect(x, y, sideways ? long : wide, sideways ? wide : long);
      }
      if (drops > 0) cross(pen, line.x1 + line.outX * (QUEUE + 5), line.y1 + line.outY * (QUEUE + 5), Math.min(4, line.space / 2));
      pen.globalAlpha = 1;
    });
    if (!place.packed) return;
    place.boxes.forEach((box, node) => {
      if (place.tiers[node] !== 0) return;
      const drops = this.sending[node].some((direction) => moments.counted(direction ^ 1, "d", frame) > 0);
      if (drops) cross(pen, box.x + box.width / 2, box.y + box.height / 2, Math.min(4, box.width / 2.5));
    });
  }

  private at(x: number, y: number): Choice {
    const { place, scene } = this;
    if (!place || !scene) return null;
    const node = place.boxes.findIndex((box) => x >= box.x - 1 && x <= box.x + box.width + 1 && y >= box.y - 1 && y <= box.y + box.height + 1);
    if (node >= 0) return place.packed && place.tiers[node] === 0 ? { kind: "port", direction: this.sending[node][0] ^ 1 } : { kind: "node", node };
    let best: Choice = null;
    let least = NEAR;
    place.lines.forEach((line, direction) => {
      if (!line) return;
      const far = distance(x, y, line.x1, line.y1, line.x2, line.y2);
      if (far < least) {
        least = far;
        best = { kind: "port", direction };
      }
    });
    return best;
  }

  // Arrow keys move from node to node.
  private key(event: KeyboardEvent): void {
    const { place, scene } = this;
    if (!place || !scene || event.target !== this.element) return;
    const here = scene.choice?.kind === "node" ? scene.choice.node : scene.choice ? this.sender(scene.choice.direction) : place.order[place.order.length - 1][0];
    const tier = place.tiers[here];
    const row = place.order[tier];
    const at = row.indexOf(here);
    const neighbour = (step: number): number => row[Math.min(Math.max(at + step, 0), row.length - 1)];
    const nearest = (list: number[] | undefined): number | undefined => list?.reduce((one, other) => (Math.abs(middle(other) - middle(here)) < Math.abs(middle(one) - middle(here)) ? other : one), list[0]);
    const middle = (node: number): number => place.boxes[node].x + place.boxes[node].width / 2;
    const keys: Record<string, () => number | undefined> = {
      ArrowLeft: () => neighbour(-1),
      ArrowRight: () => neighbour(1),
      ArrowUp: () => nearest(place.order[tier + 1]),
      ArrowDown: () => nearest(place.order[tier - 1]),
    };
    const to = scene.choice ? keys[event.key]?.() : event.key in keys ? here : undefined;
    if (event.key === "Escape") this.chosen(null);
    if (!(event.key in keys)) return;
    event.preventDefault();
    if (to !== undefined) this.chosen({ kind: "node", node: to });
  }

  private sender(direction: number): number {
    const fabric = this.of!;
    return direction % 2 ? fabric.b[direction >> 1] : fabric.a[direction >> 1];
  }
}

// Draws a cross where frames were dropped.
function cross(pen: CanvasRenderingContext2D, x: number, y: number, half: number): void {
  for (const [paint, width] of [["paper", 3.4], ["ink", 1.8]] as const) {
    pen.strokeStyle = colour(paint);
    pen.lineWidth = width;
    pen.beginPath();
    pen.moveTo(x - half, y - half);
    pen.lineTo(x + half, y + half);
    pen.moveTo(x + half, y - half);
    pen.lineTo(x - half, y + half);
    pen.stroke();
  }
}

function distance(x: number, y: number, x1: number, y1: number, x2: number, y2: number): number {
  const [dx, dy] = [x2 - x1, y2 - y1];
  const along = Math.min(Math.max(((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1), 0), 1);
  return Math.hypot(x - x1 - along * dx, y - y1 - along * dy);
}
