// What Back and Forward restore beside the address: how far the page and the lanes were scrolled,
// and what had the focus.

interface Left {
  page: number;
  lanes: number;
  focus: string;
}

const left = new Map<string, Left>();
let current = "";

function newKey(): string {
  return Math.random().toString(36).slice(2);
}

const lanes = () => document.querySelector<HTMLElement>(".scroller");

/** A selector that finds el again after the view was drawn anew; empty if there is none. */
export function selectorOf(el: Element | null): string {
  if (!el || el === el.ownerDocument.body) return "";
  const quoted = (v: string) => v.replaceAll("\\", "\\\\").replaceAll('"', '\\"');
  const href = el.getAttribute("href");
  const label = el.getAttribute("aria-label");
  const name = el.tagName.toLowerCase();
  if (href) return `${name}[href="${quoted(href)}"]${label ? `[aria-label="${quoted(label)}"]` : ""}`;
  return label ? `${name}[aria-label="${quoted(label)}"]` : "";
}

function leave(): void {
  left.set(current, { page: scrollY, lanes: lanes()?.scrollTop ?? 0, focus: selectorOf(document.activeElement) });
}

/** Adds a step to the history. */
export function step(url: string | URL): void {
  leave();
  current = newKey();
  history.pushState({ key: current }, "", url);
}

const patience = 120; // frames

/** Scrolls and focuses as before, as soon as the view is tall enough, unless the user does something first. */
function restore(to: Left): void {
  let frames = 0;
  const stop = new AbortController();
  for (const type of ["wheel", "keydown", "pointerdown"]) addEventListener(type, () => stop.abort(), { signal: stop.signal, passive: true });
  const frame = () => {
    if (stop.signal.aborted) return;
    scrollTo(0, to.page);
    const inner = lanes();
    if (inner) inner.scrollTop = to.lanes;
    const el = to.focus ? document.querySelector<HTMLElement>(to.focus) : null;
    el?.focus({ preventScroll: true });
    const done = Math.abs(scrollY - to.page) < 2 && (!to.lanes || Math.abs((inner?.scrollTop ?? 0) - to.lanes) < 2) && (!to.focus || el !== null);
    if (done || ++frames > patience) stop.abort();
    else requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

/** Calls changed after each Back or Forward, and then restores what the step looked like. */
export function onBack(changed: () => void): void {
  history.scrollRestoration = "manual";
  const state = history.state as { key?: string } | null;
  current = state?.key ?? newKey();
  history.replaceState({ key: current }, "");
  addEventListener("popstate", () => {
    leave();
    current = (history.state as { key?: string } | null)?.key ?? newKey();
    changed();
    const to = left.get(current);
    if (to) restore(to);
  });
}
