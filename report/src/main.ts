// Fills the page. The answer and its table are in it already, so they are there without a script too.
import { completion } from "./completion";
import { read } from "./data";
import { html } from "./dom";
import { timelines } from "./jobs";
import { ports } from "./ports";
import { split } from "./split";
import { themeChoice } from "./theme";

async function main(): Promise<void> {
  document.getElementById("tools")?.append(themeChoice());
  const report = await read("data");
  const sections: [string, string, () => HTMLElement[], boolean][] = [
    ["completion", "Completion times", () => completion(report.completion!, report.designs), report.completion !== null],
    ["split", "Where the time went", () => split(report.split!, report.designs), report.split !== null],
    ["ports", "Ports", () => ports(report.ports!, report.designs), report.ports !== null],
    ["jobs", "Jobs", () => timelines(report.timelines, report.designs), report.timelines.some((one) => one !== null)],
  ];
  const links = document.getElementById("links");
  const place = document.getElementById("sections");
  for (const [id, title, fill, there] of sections) {
    if (!there) continue;
    const section = html("section", { id, "aria-labelledby": `${id}-title` }, html("h2", { id: `${id}-title` }, title));
    place?.append(section);
    section.append(...fill());
    links?.append(html("a", { href: `#${id}` }, title));
  }
  links?.append(html("a", { href: "#about" }, "Scenarios"));
  document.documentElement.dataset.ready = "yes";
}

main().catch((error: unknown) => {
  document.getElementById("sections")?.append(html("p", { class: "failure", role: "alert" }, `The charts cannot be shown in this browser: ${error}`));
  throw error;
});
