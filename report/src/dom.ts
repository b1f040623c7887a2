// Short functions to create elements.

type Attributes = Record<string, string | number | boolean | ((event: Event) => void)>;
type Child = Node | string;

function fill(element: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children);
}

export function html<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

export function svg<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(element, attributes, children);
  return element;
}

// Returns a choice among a few options, as radio buttons, so that arrow keys work.
export function choice(legend: string, options: [string, string][], chosen: string, changed: (value: string) => void): HTMLElement {
  const group = html("fieldset", { class: "choice" }, html("legend", {}, legend));
  const name = `choice-${document.querySelectorAll("fieldset").length}-${Math.random()}`;
  for (const [value, label] of options) {
    const input = html("input", { type: "radio", name, value, checked: value === chosen, change: () => changed(value) });
    group.append(html("label", {}, input, html("span", {}, label)));
  }
  return group;
}

// Returns a choice among many options.
export function selection(label: string, options: [string, string][], changed: (value: string) => void): { element: HTMLElement; set: (options: [string, string][]) => void } {
  const select = html("select", { change: () => changed(select.value) });
  const set = (entries: [string, string][]) => select.replaceChildren(...entries.map(([value, text]) => html("option", { value }, text)));
  set(options);
  return { element: html("label", { class: "selection" }, html("span", {}, label), select), set };
}

// Returns a choice without a border, for the header.
export function headerChoice(label: string, options: [string, string][], chosen: string, changed: (value: string) => void): HTMLElement {
  const select = html("select", { "aria-label": label, change: () => changed(select.value) }, ...options.map(([value, text]) => html("option", { value }, text)));
  select.value = chosen;
  return html("label", {}, select);
}

// Returns buttons if they fit into one line, otherwise a list.
export function chooser(label: string, options: [string, string][], chosen: string, changed: (value: string) => void): HTMLElement {
  if (options.reduce((sum, [, text]) => sum + text.length + 4, 0) < 70) return choice(label, options, chosen, changed);
  const { element } = selection(label, options, changed);
  element.querySelector("select")!.value = chosen;
  return element;
}

// Returns a table with heads in the first row and column. A table that is too wide scrolls sideways
// separately.
export function table(caption: string, head: string[], rows: Child[][]): HTMLElement {
  const made = html("table", {}, html("caption", {}, caption));
  made.append(html("thead", {}, html("tr", {}, ...head.map((text) => html("th", { scope: "col" }, text)))));
  made.append(html("tbody", {}, ...rows.map(([first, ...rest]) => html("tr", {}, html("th", { scope: "row" }, first), ...rest.map((text) => html("td", {}, text))))));
  return html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, made);
}

export function details(summary: string, ...children: Child[]): HTMLElement {
  return html("details", {}, html("summary", {}, summary), ...children);
}
