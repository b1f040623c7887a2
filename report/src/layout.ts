// Layout of a fabric's nodes and links: hosts at the bottom, switches above them by their distance
// from the hosts.
import type { Fabric } from "./data";

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

// A direction of a link: start at the sending port, end at the receiving node, and orientation of
// the port.
export interface Line {
  x1: number;
  y1: number;
  x2: number;
  y2: number;
  outX: number;
  outY: number;
  // Space for the bar of a queue.
  space: number;
}

export interface Layout {
  width: number;
  height: number;
  margin: number;
  // Boxes and tiers by node.
  boxes: Box[];
  tiers: number[];
  // True if hosts are cells of their rack. False if they are side by side with a line each.
  packed: boolean;
  // Lines by direction. Null if the link's host is a cell of its rack.
  lines: (Line | null)[];
  rows: { y: number; tier: number; name: string }[];
  // Nodes of each tier from left to right.
  order: number[][];
}

// Minimum widths in px: of a rack, and of a host with its own line.
const RACK = 8;
const HOST = 26;
const TOP = 26;
const BOX = 24;

export const isHost = (fabric: Fabric, node: number): boolean => node < fabric.hosts;

export function layout(fabric: Fabric, available: number): Layout {
  const nodes = fabric.nodes.length;
  // Space for the names of tiers.
  const margin = available < 600 ? 46 : 76;
  const neighbours: number[][] = Array.from({ length: nodes }, () => []);
  fabric.a.forEach((a, link) => {
    neighbours[a].push(fabric.b[link]);
    neighbours[fabric.b[link]].push(a);
  });
  const tiers = distances(fabric, neighbours);
  const highest = tiers.reduce((a, b) => Math.max(a, b), 0);
  const hosts = tiers.flatMap((tier, node) => (tier === 0 ? [node] : []));
  // Each host belongs to the first switch that it is connected to.
  const anchor = hosts.map((host) => neighbours[host].find((peer) => tiers[peer] === 1) ?? -1);
  const first = tiers.flatMap((tier, node) => (tier === 1 ? [node] : []));
  const rackOf = new Map<number, number[]>([...first.map((node): [number, number[]] => [node, []])]);
  hosts.forEach((host, at) => rackOf.get(anchor[at])?.push(host));
  const middle = (node: number, of: (peer: number) => number | undefined): number => {
    const places = neighbours[node].flatMap((peer) => of(peer) ?? []);
    return places.length ? places.reduce((a, b) => a + b, 0) / places.length : 0;
  };
  const byMiddle = (list: number[], of: (peer: number) => number | undefined): number[] =>
    list.map((node) => ({ node, at: middle(node, of) })).sort((one, other) => one.at - other.at || one.node - other.node).map(({ node }) => node);
  const order: number[][] = [hosts, byMiddle(first, (peer) => (tiers[peer] === 0 ? peer : undefined))];

  const width = Math.max(available, margin + 12 + order[1].length * RACK);
  const inner = width - margin - 12;
  const packed = inner / Math.max(hosts.length, 1) < HOST;
  const mean = hosts.length / Math.max(first.length, 1);
  const weights = order[1].map((node) => Math.max(rackOf.get(node)?.length ?? 0, mean / 2, 0.5));
  const total = weights.reduce((a, b) => a + b, 0);
  const boxes: Box[] = Array.from({ length: nodes }, () => ({ x: 0, y: 0, width: 0, height: 0 }));
  const gap = Math.max(110, Math.min(170, 60 + fabric.a.length * 0.6));
  const yOf = (tier: number): number => TOP + (highest - tier) * gap;
  let bottom = yOf(1) + BOX;
  let left = margin;
  order[1].forEach((node, at) => {
    const slot = (inner * weights[at]) / total;
    const side = Math.min(6, slot * 0.06);
    boxes[node] = { x: left + side, y: yOf(1), width: slot - 2 * side, height: BOX };
    const rack = rackOf.get(node) ?? [];
    if (packed) {
      const space = slot - 2 * side;
      const { columns, cell } = cells(rack.length, space);
      rack.forEach((host, place) => {
        const y = yOf(1) + BOX + 12 + Math.floor(place / columns) * cell;
        boxes[host] = { x: left + side + (space - Math.min(columns, rack.length) * cell) / 2 + (place % columns) * cell, y, width: cell - 1, height: cell - 1 };
        bottom = Math.max(bottom, y + cell);
      });
    } else {
      rack.forEach((host, place) => {
        const share = (slot - 2 * side) / rack.length;
        const own = Math.min(share - 6, 60);
        boxes[host] = { x: left + side + share * (place + 0.5) - own / 2, y: yOf(0) - 20, width: own, height: 18 };
        bottom = Math.max(bottom, yOf(0));
      });
    }
    left += slot;
  });
  for (let tier = 2; tier <= highest; tier++) {
    const center = (peer: number): number | undefined => (tiers[peer] === tier - 1 ? boxes[peer].x + boxes[peer].width / 2 : undefined);
    const here = byMiddle(tiers.flatMap((of, node) => (of === tier ? [node] : [])), center);
    order.push(here);
    const slot = inner / here.length;
    here.forEach((node, at) => {
      const own = Math.min(slot - Math.min(10, slot * 0.2), 150);
      boxes[node] = { x: margin + slot * (at + 0.5) - own / 2, y: yOf(tier), width: own, height: BOX };
    });
  }
  const rows = order.map((list, tier) => ({ tier, name: stem(list.map((node) => fabric.nodes[node])), y: list.length ? boxes[list[0]].y + boxes[list[0]].height / 2 : 0 })).filter((row) => order[row.tier].length);
  return { width, height: bottom + 10, margin, boxes, tiers, packed, lines: lines(fabric, boxes, tiers, packed), rows, order };
}

// Returns the number of links to the nearest host, by node.
function distances(fabric: Fabric, neighbours: number[][]): number[] {
  const found: number[] = fabric.nodes.map((_, node) => (isHost(fabric, node) ? 0 : -1));
  const waiting = found.flatMap((tier, node) => (tier === 0 ? [node] : []));
  for (let at = 0; at < waiting.length; at++)
    for (const peer of neighbours[waiting[at]])
      if (found[peer] < 0) {
        found[peer] = found[waiting[at]] + 1;
        waiting.push(peer);
      }
  return found;
}

function lines(fabric: Fabric, boxes: Box[], tiers: number[], packed: boolean): (Line | null)[] {
  const center = (node: number): number => boxes[node].x + boxes[node].width / 2;
  // Ends of links at each side of a node, from left to right.
  const sides = new Map<string, { link: number; node: number; peer: number }[]>();
  const sideOf = (node: number, peer: number): string => (tiers[peer] > tiers[node] ? "up" : tiers[peer] < tiers[node] ? "down" : center(peer) > center(node) ? "right" : "left");
  const drawn = fabric.a.map((a, link) => !packed || (tiers[a] > 0 && tiers[fabric.b[link]] > 0));
  fabric.a.forEach((a, link) => {
    if (!drawn[link]) return;
    for (const [node, peer] of [[a, fabric.b[link]], [fabric.b[link], a]]) {
      const key = `${node} ${sideOf(node, peer)}`;
      const there = sides.get(key) ?? [];
      sides.set(key, there);
      there.push({ link, node, peer });
    }
  });
  const ends = new Map<string, { x: number; y: number; outX: number; outY: number; space: number }>();
  for (const [key, list] of sides) {
    const side = key.split(" ")[1];
    list.sort((one, other) => center(one.peer) - center(other.peer) || one.link - other.link);
    list.forEach(({ link, node }, place) => {
      const box = boxes[node];
      const share = (place + 0.5) / list.length;
      const across = side === "up" || side === "down";
      const space = (across ? box.width : box.height) / list.length;
      ends.set(`${node} ${link}`, {
        x: across ? box.x + box.width * share : side === "right" ? box.x + box.width : box.x,
        y: across ? (side === "up" ? box.y : box.y + box.height) : box.y + box.height * share,
        outX: across ? 0 : side === "right" ? 1 : -1,
        outY: across ? (side === "up" ? -1 : 1) : 0,
        space,
      });
    });
  }
  return fabric.a.flatMap((a, link): (Line | null)[] => {
    const from = ends.get(`${a} ${link}`);
    const to = ends.get(`${fabric.b[link]} ${link}`);
    if (!from || !to) return [null, null];
    const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
    // Traffic is drawn on the right side of its direction.
    const offset = Math.min(2, from.space / 4, to.space / 4);
    const dx = (-(to.y - from.y) / length) * offset;
    const dy = ((to.x - from.x) / length) * offset;
    return [
      { x1: from.x + dx, y1: from.y + dy, x2: to.x + dx, y2: to.y + dy, outX: from.outX, outY: from.outY, space: from.space },
      { x1: to.x - dx, y1: to.y - dy, x2: from.x - dx, y2: from.y - dy, outX: to.outX, outY: to.outY, space: to.space },
    ];
  });
}

// Returns the layout of a rack's hosts: cells as large as possible, and full rows in preference to
// partial ones.
function cells(hosts: number, space: number): { columns: number; cell: number } {
  let best = { columns: 1, cell: 5, worth: 0 };
  for (let rows = 1; rows <= Math.max(hosts, 1) && rows <= 40; rows++) {
    const columns = Math.ceil(hosts / rows);
    const cell = Math.max(Math.min(Math.floor(space / Math.max(columns, 1)), Math.floor(110 / rows), 20), 5);
    const worth = cell * (hosts % columns ? 0.85 : 1) * (columns * cell > space ? 0.5 : 1);
    if (worth > best.worth) best = { columns, cell, worth };
  }
  return best;
}

// Returns the common stem of a tier's names: leaf for leaf0, leaf1, …
function stem(names: string[]): string {
  const stems = new Set(names.map((name) => name.replace(/[-_.]?\d.*$/, "")));
  const [only] = stems;
  return stems.size === 1 && names.length > 1 ? only : "";
}
