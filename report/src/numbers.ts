// Number format of one figure: the same unit, stated in the title, and the same number of decimals
// for all numbers.
import { language, say } from "./words";

const UNITS: [number, string][] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const NARROW = "\u00a0";

export class Unit {
  readonly name: string;
  private readonly size: number;
  private readonly decimals: number;

  // Selects the format for values up to the largest, which has three digits. Differences may have
  // one more digit.
  constructor(largest: number, difference = largest) {
    largest = rounded(largest);
    difference = rounded(difference);
    [this.size, this.name] = UNITS.find(([size]) => Math.abs(largest) >= size) ?? UNITS[UNITS.length - 1];
    const decimals = (value: number): number => (this.size === 1 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.max(Math.abs(value) / this.size, 1e-9)))));
    this.decimals = Math.min(decimals(difference), decimals(largest) + (difference === largest ? 0 : 1));
  }

  // True if the value is zero after rounding.
  isNothing(ns: number): boolean {
    return !/[1-9]/.test(this.bare(ns));
  }

  // Formats a value without the unit.
  bare(ns: number): string {
    return fixed(ns / this.size, this.decimals);
  }

  full(ns: number): string {
    return `${this.bare(ns)}${NARROW}${this.name}`;
  }

  signed(ns: number): string {
    const text = this.bare(Math.abs(ns));
    return `${/[1-9]/.test(text) ? (ns < 0 ? "−" : "+") : ""}${text}`;
  }

  interval(low: number, high: number): string {
    return say("interval", { low: this.signed(low), high: this.signed(high) });
  }
}

// Rounds to three digits: 999.9 µs are 1.00 ms.
function rounded(value: number): number {
  return Number(value.toPrecision(3));
}

function fixed(value: number, decimals: number): string {
  const text = Math.abs(value).toLocaleString(language(), { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  return value < 0 && /[1-9]/.test(text) ? `−${text}` : text;
}
