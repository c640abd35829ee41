import { useCallback, useSyncExternalStore } from "react";

// Where the page is. All of its state that somebody might want to send to a colleague is in the address.

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

/** An address with its query changed; what is empty is left out. */
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
  addEventListener("popstate", listener);
  return () => {
    listeners.delete(listener);
    removeEventListener("popstate", listener);
  };
}

/** What is carried from view to view: how things are shown. */
const kept = ["zone"];

/** Goes to another view of the page. */
export function go(to: string, replace = false): void {
  const url = new URL(to, location.href);
  for (const k of kept) {
    const v = new URLSearchParams(location.search).get(k);
    if (v && !url.searchParams.has(k)) url.searchParams.set(k, v);
  }
  const changed = url.pathname !== location.pathname;
  history[replace ? "replaceState" : "pushState"](null, "", url);
  if (changed) scrollTo(0, 0);
  for (const l of listeners) l();
}

export function usePlace(): Place {
  const path = useSyncExternalStore(subscribe, () => location.pathname);
  return parsePlace(path);
}

/** The address's query, and a function that changes it in place. */
export function useQuery(): [URLSearchParams, (patch: Record<string, string | undefined>) => void] {
  const search = useSyncExternalStore(subscribe, () => location.search);
  const change = useCallback((patch: Record<string, string | undefined>) => {
    history.replaceState(null, "", location.pathname + withQuery(location.search, patch));
    for (const l of listeners) l();
  }, []);
  return [new URLSearchParams(search), change];
}
