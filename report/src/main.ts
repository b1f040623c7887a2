// Entry point of the page's script. The page already contains the answer, its figure and its
// tables, so they are visible without a script.
import { completion } from "./completion";
import { type Report, read } from "./data";
import { html, headerChoice } from "./dom";
import { timelines } from "./jobs";
import { portNames, ports } from "./ports";
import { replay } from "./replay";
import { follow, links } from "./sections";
import { split } from "./split";
import { terms } from "./terms";
import { followSystem, forget, themeChoice } from "./theme";
import { type Key, LANGUAGES, type Language, language, say, speak } from "./words";

function fill(report: Report): void {
  forget();
  portNames(report.ports);
  const place = document.getElementById("sections")!;
  const sections: [string, Key, () => HTMLElement[], boolean][] = [
    ["completion", "completion.title", () => completion(report), report.completion !== null],
    ["split", "split.title", () => split(report), report.split !== null || report.phases !== null],
    ["ports", "ports.title", () => ports(report), report.ports !== null],
    ["jobs", "jobs.title", () => timelines(report), report.timelines.some((one) => one !== null)],
    ["replay", "replay.title", () => replay(report), true],
  ];
  place.replaceChildren();
  for (const [id, title, make, there] of sections) {
    if (!there) continue;
    const section = html("section", { id, "aria-labelledby": `${id}-title` }, html("h2", { id: `${id}-title` }, say(title)));
    place.append(section);
    section.append(...make());
  }
  document.getElementById("answer")?.setAttribute("aria-label", say("answer.title"));
  links();
  document.getElementById("tools")?.replaceChildren(
    headerChoice(say("language"), LANGUAGES, language(), (value) => {
      speak(value as Language);
      fill(report);
      document.querySelector<HTMLSelectElement>("#tools select")?.focus();
    }),
    themeChoice(),
  );
}

async function main(): Promise<void> {
  followSystem();
  terms();
  const report = await read("data");
  fill(report);
  follow();
  document.documentElement.dataset.ready = "yes";
}

main().catch((error: unknown) => {
  document.getElementById("sections")?.append(html("p", { class: "failure", role: "alert" }, say("failure", { error: String(error) })));
  throw error;
});
