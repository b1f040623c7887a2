// Colours of phases, the same in all figures and designs.
const KNOWN: Record<string, number> = { start: 0, submit: 0, master: 0, map: 1, shuffle: 2, merge: 2, reduce: 3, commit: 4 };
const COLOURS = 5;
// Steps of a reduce task, which do not count as tasks.
export const STEPS = ["shuffle", "merge", "sort"];

export const phaseColour = (name: string, place: number): string => `var(--phase-${(KNOWN[name] ?? place) % COLOURS})`;
