// Definitions of terms, shown on hover, focus or touch. Escape and a tap elsewhere close them.
import { html } from "./dom";

// Returns a term with a link to its definition, or the plain text if the page has no definition.
export function term(key: string, shown: string): Node | string {
  return document.getElementById(`term-${key}`) ? html("span", { class: "term", tabindex: 0, "aria-describedby": `term-${key}` }, shown) : shown;
}

export function terms(): void {
  const tip = document.getElementById("tip")!;
  let of: Element | null = null;
  const term = (target: EventTarget | null): HTMLElement | null => (target instanceof Element ? target.closest<HTMLElement>(".term") : null);
  const hide = (): void => {
    tip.hidden = true;
    of = null;
  };
  const show = (event: Event): void => {
    const here = term(event.target);
    if (!here) return;
    const definition = document.getElementById(here.getAttribute("aria-describedby") ?? "");
    if (!definition) return;
    of = here;
    tip.innerHTML = definition.innerHTML;
    tip.hidden = false;
    const at = here.getBoundingClientRect();
    const box = tip.getBoundingClientRect();
    const below = at.bottom + 8 + box.height < innerHeight;
    tip.style.left = `${Math.max(16, Math.min(at.left, document.documentElement.clientWidth - box.width - 16))}px`;
    tip.style.top = `${below ? at.bottom + 6 : at.top - box.height - 6}px`;
  };
  for (const name of ["pointerover", "focusin", "click"]) addEventListener(name, show);
  addEventListener("pointerout", (event) => {
    if (term(event.target) && event.pointerType === "mouse" && event.relatedTarget !== tip) hide();
  });
  tip.addEventListener("pointerleave", hide);
  addEventListener("focusout", hide);
  addEventListener("pointerdown", (event) => {
    if (of && !term(event.target) && event.target !== tip) hide();
  });
  addEventListener("scroll", hide, { passive: true });
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
}
