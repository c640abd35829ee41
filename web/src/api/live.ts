import { useEffect, useSyncExternalStore } from "react";
import type { components } from "./schema";

// The stream of events: what tells every view that something has changed, and whether the server can be heard at all.

export type Event = components["schemas"]["ListEvent"]["items"][number];

export interface Connection {
  state: "connecting" | "live" | "lost";
  since: number;
}

/** How long to wait before the nth attempt to connect again: at once, then longer, up to ten seconds. */
export function backoff(n: number): number {
  return Math.min(10_000, 500 * 2 ** Math.max(0, n - 1));
}

class Live {
  connection: Connection = { state: "connecting", since: Date.now() };
  private source: EventSource | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private tries = 0;
  private lastID = "";
  private watchers = new Set<() => void>();
  private hearers = new Set<(e: Event) => void>();
  private behind = new Set<() => void>();

  start(): void {
    if (this.source || this.timer) return;
    const source = new EventSource("/api/v1/events/stream" + (this.lastID ? `?lastEventId=${this.lastID}` : ""));
    this.source = source;
    source.onopen = () => {
      this.tries = 0;
      this.heard();
    };
    source.onmessage = (m) => {
      this.lastID = m.lastEventId || this.lastID;
      const event = JSON.parse(m.data as string) as Event;
      for (const h of this.hearers) h(event);
    };
    source.onerror = () => {
      source.close();
      if (this.source !== source) return;
      this.source = undefined;
      this.lost();
      this.timer = setTimeout(() => {
        this.timer = undefined;
        this.start();
      }, backoff(++this.tries));
    };
  }

  /** Tries again at once, for example because somebody has logged in. */
  restart(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.source?.close();
    this.source = undefined;
    this.start();
  }

  /** The server answered: whatever was missed meanwhile is read again. */
  private heard(): void {
    const before = this.connection.state;
    if (before === "live") return;
    this.connection = { state: "live", since: Date.now() };
    this.tell();
    if (before === "lost") this.fallBehind();
  }

  private lost(): void {
    if (this.connection.state === "lost") return;
    this.connection = { state: "lost", since: Date.now() };
    this.tell();
  }

  private tell(): void {
    for (const w of this.watchers) w();
  }

  watch = (f: () => void): (() => void) => {
    this.watchers.add(f);
    return () => this.watchers.delete(f);
  };

  hear(f: (e: Event) => void): () => void {
    this.hearers.add(f);
    return () => this.hearers.delete(f);
  }

  /** Calls f whenever all that is shown may be old: the server is back, or somebody has just changed something here. */
  onBehind(f: () => void): () => void {
    this.behind.add(f);
    return () => this.behind.delete(f);
  }

  fallBehind(): void {
    for (const f of this.behind) f();
  }
}

export const live = new Live();

export function useConnection(): Connection {
  return useSyncExternalStore(live.watch, () => live.connection);
}

/** Calls f for every event from now on; f must stay the same between renders. */
export function useEvents(f: (e: Event) => void): void {
  useEffect(() => live.hear(f), [f]);
}
