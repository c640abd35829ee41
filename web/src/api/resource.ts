import { useEffect, useRef, useState } from "react";
import { type Answer, Failure, read } from "./client";
import { type Event, live } from "./live";

/** What a view knows of an answer. Data stays while it is read again, so that nothing flickers. */
export interface Resource<T> {
  data: T | undefined;
  failure: Failure | undefined; // of the latest request
  at: number; // when data was read
}

export interface Options<T> {
  /** Which events call for reading again; without it, any. */
  on?: (e: Event) => boolean;
  /** How often to read again although nothing was announced, in milliseconds. */
  every?: number;
  /** How to read; one answer unless said. */
  by?: (path: string, signal: AbortSignal) => Promise<Answer<T>>;
  /** The data of the path before is shown until that of the new one is there. */
  keep?: boolean;
}

/**
 * Events come in bursts: the first is followed at once, the rest of a burst together. The longer an answer takes, the longer
 * the server is left alone afterwards, so that a page that is kept open never is what keeps it busy.
 */
export function rest(took: number): number {
  return Math.min(10_000, Math.max(250, 4 * took));
}

/** Reads path, and again whenever what it tells may have changed. Null reads nothing. */
export function useResource<T>(path: string | null, options: Options<T> = {}): Resource<T> {
  const [state, setState] = useState<Resource<T> & { path: string | null }>(() => ({ data: undefined, failure: undefined, at: 0, path }));
  const latest = useRef(options);
  latest.current = options;
  const { every } = options;

  useEffect(() => {
    if (path === null) return;
    const reader = new Reader<T>(path, () => latest.current, setState);
    const stops = [
      live.hear((e) => {
        if (latest.current.on?.(e) ?? true) reader.soon();
      }),
      live.onBehind(() => reader.now()),
    ];
    const seen = () => document.visibilityState === "visible" && reader.now();
    document.addEventListener("visibilitychange", seen);
    const timer = every && setInterval(() => document.visibilityState === "visible" && reader.now(), every);
    reader.now();
    return () => {
      for (const stop of stops) stop();
      document.removeEventListener("visibilitychange", seen);
      clearInterval(timer || undefined);
      reader.stop();
    };
  }, [path, every]);

  if (state.path !== path && !options.keep) return { data: undefined, failure: undefined, at: 0 };
  return state;
}

type Set<T> = (f: (old: Resource<T> & { path: string | null }) => Resource<T> & { path: string | null }) => void;

/** Reader reads one path, one request at a time. */
class Reader<T> {
  private abort = new AbortController();
  private busy = false;
  private again = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private rested = 0; // when it may be read again
  private tag: string | null = null;

  constructor(
    private path: string,
    private options: () => Options<T>,
    private set: Set<T>,
  ) {}

  soon(): void {
    if (this.timer) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.now();
    }, Math.max(0, this.rested - Date.now()));
  }

  now(): void {
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    void this.run();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.abort.abort();
  }

  private async run(): Promise<void> {
    const by = this.options().by ?? read<T>;
    const began = Date.now();
    try {
      this.take(await by(this.path, this.abort.signal));
    } catch (cause) {
      if (this.abort.signal.aborted) return;
      const failure = cause instanceof Failure ? cause : new Failure(String(cause), 0);
      this.set((old) => ({ ...(old.path === this.path || this.options().keep ? old : { data: undefined, at: 0 }), path: this.path, failure }));
    }
    this.busy = false;
    this.rested = Date.now() + rest(Date.now() - began);
    if (this.again && !this.abort.signal.aborted) {
      this.again = false;
      this.soon();
    }
  }

  private take(answer: Answer<T>): void {
    if (this.abort.signal.aborted) return;
    const same = answer.tag !== null && answer.tag === this.tag;
    this.tag = answer.tag;
    this.set((old) => {
      if (same && old.path === this.path && !old.failure) return old;
      return { path: this.path, data: same && old.path === this.path ? old.data : answer.data, failure: undefined, at: Date.now() };
    });
  }
}
