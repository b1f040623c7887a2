// Fills the page. The answer and its table are in it already, so they are there without a script too.
import { completion } from "./completion";
import { type Report, read } from "./data";
import { choice, html } from "./dom";
import { timelines } from "./jobs";
import { portNames, ports } from "./ports";
import { replay } from "./replay";
import { split } from "./split";
import { followSystem, forget, themeChoice } from "./theme";
import { type Key, LANGUAGES, type Language, language, say, speak } from "./words";

function fill(report: Report): void {
  forget();
  portNames(report.ports);
  const links = document.getElementById("links")!;
  const place = document.getElementById("sections")!;
  const sections: [string, Key, () => HTMLElement[], boolean][] = [
    ["completion", "completion.title", () => completion(report.completion!, report.designs), report.completion !== null],
    ["split", "split.title", () => split(report.split!, report.designs), report.split !== null],
    ["replay", "replay.title", () => replay(report), true],
    ["ports", "ports.title", () => ports(report.ports!, report.designs), report.ports !== null],
    ["jobs", "jobs.title", () => timelines(report.timelines, report.designs), report.timelines.some((one) => one !== null)],
  ];
  const there = sections.filter((section) => section[3]);
  const titles: [string, string][] = [["answer", say("answer.title")], ...there.map(([id, title]): [string, string] => [id, say(title)]), ["about", say("about.title")]];
  links.replaceChildren(...titles.map(([id, title]) => html("a", { href: `#${id}` }, title)));
  links.closest("nav")?.setAttribute("aria-label", say("sections"));
  document.getElementById("answer")?.setAttribute("aria-label", say("answer.title"));
  document.getElementById("answer-table")?.setAttribute("aria-label", say("answer.table"));
  place.replaceChildren();
  for (const [id, title, make] of there) {
    const section = html("section", { id, "aria-labelledby": `${id}-title` }, html("h2", { id: `${id}-title` }, say(title)));
    place.append(section);
    section.append(...make());
  }
  document.getElementById("tools")?.replaceChildren(
    choice(say("language"), LANGUAGES, language(), (value) => {
      speak(value as Language);
      fill(report);
      document.querySelector<HTMLInputElement>("#tools input:checked")?.focus();
    }),
    themeChoice(),
  );
}

async function main(): Promise<void> {
  followSystem();
  const report = await read("data");
  fill(report);
  document.documentElement.dataset.ready = "yes";
}

main().catch((error: unknown) => {
  document.getElementById("sections")?.append(html("p", { class: "failure", role: "alert" }, say("failure", { error: String(error) })));
  throw error;
});
