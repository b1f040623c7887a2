// Links in the header, one per section of the page. The current section is marked, without any
// movement of the layout.
import { html } from "./dom";
import { say } from "./words";

export function links(): void {
  const nav = document.getElementById("links")!;
  const parts = [...document.querySelectorAll<HTMLElement>("main section[id]")];
  nav.setAttribute("aria-label", say("sections"));
  const title = (part: HTMLElement): string => {
    const heading = part.querySelector("h2");
    return heading ? [...heading.childNodes].filter((node) => !(node instanceof HTMLElement) || getComputedStyle(node).display !== "none").map((node) => node.textContent).join("") : say("answer.title");
  };
  nav.replaceChildren(...parts.map((part) => html("a", { href: `#${part.id}` }, title(part))));
  mark();
}

function mark(): void {
  const nav = document.getElementById("links")!;
  const every = [...nav.querySelectorAll<HTMLAnchorElement>("a")];
  const parts = every.map((link) => document.getElementById(link.hash.slice(1)));
  const end = innerHeight + scrollY >= document.documentElement.scrollHeight - 4 && scrollY > 0;
  const at = end ? parts.length - 1 : parts.reduce((last, part, place) => (part !== null && part.getBoundingClientRect().top < innerHeight * 0.35 ? place : last), 0);
  every.forEach((link, place) => {
    if (place !== at) link.removeAttribute("aria-current");
    else if (!link.hasAttribute("aria-current")) {
      link.setAttribute("aria-current", "true");
      nav.scrollLeft = link.offsetLeft - nav.offsetLeft - 24;
    }
  });
}

// Marks tables that can scroll.
function scrolls(): void {
  for (const box of document.querySelectorAll<HTMLElement>(".scroll")) box.classList.toggle("scrolls", box.scrollWidth > box.clientWidth + 1);
}

export function follow(): void {
  addEventListener("scroll", mark, { passive: true });
  addEventListener("resize", scrolls);
  new ResizeObserver(scrolls).observe(document.body);
}
