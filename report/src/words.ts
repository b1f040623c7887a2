// Texts of the page in the chosen language. All words are in words.json of the Python package,
// which also writes the answer with it.
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

// Returns the text for a number of things. The singular may have its own form.
export const counted = (key: Key, count: number, shown: string): string => say((count === 1 && `${key}.one` in every ? `${key}.one` : key) as Key, { count: shown });

// Returns the words for a name from the data, or the name itself if there are none.
export const named = (kind: string, name: string): string => (`${kind}.${name}` in every ? say(`${kind}.${name}` as Key) : name);

export const list = (texts: string[]): string => texts.join(chosen === "ja" ? "、" : ", ");
// Joins sentences.
export const sentences = (texts: string[]): string => texts.join(chosen === "ja" ? "" : " ");
