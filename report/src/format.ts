// Number formats for readers, like python/afflux/words/text.py, plus the language's words for large
// numbers.
import { language, say } from "./words";

function digits(value: number, count = 3): string {
  if (value === 0) return "0";
  const before = String(Math.trunc(Math.abs(value))).length;
  const places = Math.max(count - before, 0);
  return Number(value.toFixed(places)).toLocaleString(language(), { maximumFractionDigits: places });
}

function scaled(units: [number, string][], smallest: string): (value: number) => string {
  return (value) => {
    // The unit is that of the value in three digits: 999.9 kB are 1 MB, not 1,000 kB.
    for (const [unit, name] of units) if (Number((Math.abs(value) / unit).toFixed(3)) >= 1) return `${digits(value / unit)} ${name}`;
    return `${digits(value)} ${smallest}`;
  };
}

export type Show = (value: number) => string;

export const time: Show = scaled([[1e9, "s"], [1e6, "ms"], [1e3, "µs"]], "ns");
// Formats a difference of times.
export const signed: Show = (ns) => `${ns < 0 ? "−" : ns > 0 ? "+" : ""}${time(Math.abs(ns))}`;
export const size: Show = scaled([[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]], "B");
export const rate: Show = scaled([[1e12, "Tbps"], [1e9, "Gbps"], [1e6, "Mbps"], [1e3, "kbps"]], "bps");
// Large counts are in millions in English and in ten thousands in Japanese.
export const count: Show = (value) =>
  Math.abs(value) >= 1e6 ? new Intl.NumberFormat(language(), { notation: "compact", maximumSignificantDigits: 3 }).format(value) : digits(value, 4);
export const ratio: Show = (value) => digits(value);
export const percent: Show = (value) => {
  const text = value > 0 && value < 0.00005 ? "< 0.01" : String(Number((100 * value).toFixed(value < 0.1 ? 2 : 1)));
  return say("percent", { value: text });
};
export const between = (low: string, high: string): string => say("between", { low, high });
