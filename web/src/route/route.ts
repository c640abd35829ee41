import { useCallback, useSyncExternalStore } from "react";
import { onBack, step } from "./history";

// Where the page is. All state that is worth sending to a colleague is in the address.

export type Place =
  | { view: "timeline" }
  | { view: "pipeline"; id: string }
  | { view: "run"; pipeline: string; schedule: string; date: string }
  | { view: "deadlines" }
  | { view: "trends" }
  | { view: "alerts" }
  | { view: "config" }
  | { view: "events" }
  | { view: "unknown"; path: string };

/** The views that are addressed by their name alone. */
const plain = ["deadlines", "trends", "events", "alerts", "config"] as const;

const isPlain = (name: string | undefined): name is (typeof plain)[number] => (plain as readonly (string | undefined)[]).includes(name);

export function parsePlace(path: string): Place {
  let parts: string[];
  try {
    parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  } catch {
    return { view: "unknown", path };
  }
  const [head, a, b, c] = parts;
  if (parts.length === 0) return { view: "timeline" };
  if (parts.length === 1 && isPlain(head)) return { view: head };
  if (head === "pipelines" && parts.length === 2) return { view: "pipeline", id: a! };
  if (head === "runs" && parts.length === 4) return { view: "run", pipeline: a!, schedule: b!, date: c! };
  return { view: "unknown", path };
}

const enc = encodeURIComponent;
export const pipelinePath = (id: string) => `/pipelines/${enc(id)}`;
export const runPath = (pipeline: string, schedule: string, date: string) =>
  `/runs/${enc(pipeline)}/${enc(schedule)}/${enc(date)}`;

/** Returns the query with patch applied; empty values are removed. */
export function withQuery(search: string, patch: Record<string, string | undefined>): string {
  const q = new URLSearchParams(search);
  for (const [k, v] of Object.entries(patch)) {
    if (v) q.set(k, v);
    else q.delete(k);
  }
  const s = q.toString();
  return s ? `?${s}` : "";
}

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Parameters that are carried from view to view. */
const kept = ["zone"];

/** Changes the address. A push adds a step for Back; what was scrolled and focused is kept with the step that is left. */
function move(url: string | URL, replace: boolean): void {
  if (replace) history.replaceState(history.state, "", url);
  else step(url);
  for (const l of listeners) l();
}

/** Goes to another view of the page. */
export function go(to: string, replace = false): void {
  const url = new URL(to, location.href);
  for (const k of kept) {
    const v = new URLSearchParams(location.search).get(k);
    if (v && !url.searchParams.has(k)) url.searchParams.set(k, v);
  }
  const changed = url.pathname !== location.pathname;
  move(url, replace);
  if (!changed) return;
  scrollTo(0, 0);
  document.getElementById("main")?.focus({ preventScroll: true });
}

if (typeof addEventListener === "function" && typeof history === "object") {
  onBack(() => {
    for (const l of listeners) l();
  });
}

export function usePlace(): Place {
  const path = useSyncExternalStore(subscribe, () => location.pathname);
  return parsePlace(path);
}

/** Changes the query. Typing replaces the current step; every other change adds one, so that Back undoes it. */
export type Change = (patch: Record<string, string | undefined>, how?: "typing") => void;

export function useQuery(): [URLSearchParams, Change] {
  const search = useSyncExternalStore(subscribe, () => location.search);
  const change = useCallback<Change>((patch, how) => {
    const to = withQuery(location.search, patch);
    if (to !== location.search) move(location.pathname + to, how === "typing");
  }, []);
  return [new URLSearchParams(search), change];
}
