// What the page says, in the language chosen. Every word is in words.json of the Python package, which writes the answer with it.
import every from "../../python/afflux/words/words.json";

export type Key = keyof typeof every;
export type Language = "en" | "ja";
export const LANGUAGES: [Language, string][] = [["en", "English"], ["ja", "日本語"]];

let chosen: Language = navigator.language.toLowerCase().startsWith("ja") ? "ja" : "en";
document.documentElement.lang = chosen;

export const language = (): Language => chosen;

export function speak(of: Language): void {
  chosen = of;
  document.documentElement.lang = of;
}

export function say(key: Key, values: Record<string, string | number> = {}): string {
  return every[key][chosen].replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ""));
}

// Of a number of things: one of them has a form of its own.
export const counted = (key: Key, count: number, shown: string): string => say((count === 1 && `${key}.one` in every ? `${key}.one` : key) as Key, { count: shown });

// Words for a name that comes with the data; the name itself where there are none.
export const named = (kind: string, name: string): string => (`${kind}.${name}` in every ? say(`${kind}.${name}` as Key) : name);

export const list = (texts: string[]): string => texts.join(chosen === "ja" ? "、" : ", ");
// Sentences one after the other.
export const sentences = (texts: string[]): string => texts.join(chosen === "ja" ? "" : " ");
