import { useEffect, useSyncExternalStore } from "react";
import { unreachable } from "./client";
import type { components } from "./schema";

// The event stream: it announces every change, and it shows whether the server can be reached.

export type Event = components["schemas"]["EventList"]["items"][number];

export interface Connection {
  state: "connecting" | "live" | "lost";
  since: number;
}

/** How long to wait before the nth attempt to reconnect, up to ten seconds. */
export function backoff(n: number): number {
  return Math.min(10_000, 500 * 2 ** Math.max(0, n - 1));
}

export class Live {
  connection: Connection = { state: "connecting", since: Date.now() };
  private source: EventSource | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private pulse: ReturnType<typeof setTimeout> | undefined;
  private silence = 45_000; // three heartbeats; a stream that is silent for longer is dead, although its socket may look open
  private tries = 0;
  private lastID = "";
  private watchers = new Set<() => void>();
  private hearers = new Set<(e: Event) => void>();
  private behind = new Set<() => void>();

  start(): void {
    if (this.source || this.timer) return;
    const source = new EventSource("/api/v1/events/stream?heartbeat=true" + (this.lastID ? `&lastEventId=${this.lastID}` : ""));
    this.source = source;
    source.onopen = () => {
      this.tries = 0;
      this.heard();
    };
    source.onmessage = (m) => {
      this.lastID = m.lastEventId || this.lastID;
      if (this.pulse) this.beat();
      const event = JSON.parse(m.data as string) as Event;
      for (const h of this.hearers) h(event);
    };
    source.addEventListener("heartbeat", (m) => {
      this.silence = 3000 * (JSON.parse(m.data as string) as { intervalSeconds: number }).intervalSeconds;
      this.beat();
    });
    source.onerror = () => {
      if (this.source === source) this.retry();
      else source.close();
    };
  }

  /** Reconnects at once, for example after a login. */
  restart(): void {
    this.drop();
    this.start();
  }

  /** A request was not answered: the stream may look open, but nothing that is shown is fresh. */
  missed(): void {
    if (this.source) this.retry();
  }

  private beat(): void {
    clearTimeout(this.pulse);
    this.pulse = setTimeout(() => this.retry(), this.silence);
  }

  private drop(): void {
    clearTimeout(this.timer);
    clearTimeout(this.pulse);
    this.timer = this.pulse = undefined;
    this.source?.close();
    this.source = undefined;
  }

  private retry(): void {
    this.drop();
    this.change("lost");
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.start();
    }, backoff(++this.tries));
  }

  /** The server answered: everything that changed in the meantime is read again. */
  private heard(): void {
    const before = this.connection.state;
    this.change("live");
    if (before === "lost") this.fallBehind();
  }

  private change(state: Connection["state"]): void {
    if (this.connection.state === state) return;
    this.connection = { state, since: Date.now() };
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

  /** Calls f whenever all that is shown may be old: after reconnecting, and after an action on this page. */
  onBehind(f: () => void): () => void {
    this.behind.add(f);
    return () => this.behind.delete(f);
  }

  fallBehind(): void {
    for (const f of this.behind) f();
  }
}

export const live = new Live();
unreachable.add(() => live.missed());

export function useConnection(): Connection {
  return useSyncExternalStore(live.watch, () => live.connection);
}

/** Calls f for every event from now on; f must stay the same between renders. */
export function useEvents(f: (e: Event) => void): void {
  useEffect(() => live.hear(f), [f]);
}
