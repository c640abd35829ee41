import { QueryClient, useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { type Answer, Failure, read } from "./client";
import { type Event, live } from "./live";

/** Holds every answer of the server. It survives a change of view, so that Back shows a view at once. */
export const cache = new QueryClient({
  defaultOptions: { queries: { retry: false, networkMode: "always", structuralSharing: (old, fresh) => (sameTag(old, fresh) ? old : fresh) } },
});
live.onBehind(() => void cache.invalidateQueries());

function sameTag(old: unknown, fresh: unknown): boolean {
  const [a, b] = [old as Answer<unknown> | undefined, fresh as Answer<unknown>];
  return a !== undefined && a.tag !== null && a.tag === b.tag;
}

/** The state of an answer in a view. Data stays while it is read again, so that nothing flickers. */
export interface Resource<T> {
  data: T | undefined;
  failure: Failure | undefined; // of the latest request
  at: number; // when data was read
}

export interface Options<T> {
  /** Which events call for reading again; without it, any. */
  on?: (e: Event) => boolean;
  /** How often to read again without an event, in milliseconds. */
  every?: number;
  /** How to read; by default one answer. */
  by?: (path: string, signal: AbortSignal) => Promise<Answer<T>>;
  /** The data of the previous path is shown until that of the new one arrives. */
  keep?: boolean;
}

/**
 * Events come in bursts: the first is followed at once, the rest of a burst together. The longer an answer takes, the longer
 * the page waits before it asks again, so that an open page never keeps the server busy.
 */
export function rest(took: number): number {
  return Math.min(10_000, Math.max(250, 4 * took));
}

/** Reads path, and again whenever its answer may have changed. Null reads nothing. */
export function useResource<T>(path: string | null, { on, every, by = read<T>, keep = false }: Options<T> = {}): Resource<T> {
  const rested = useRef(0);
  const query = useQuery<Answer<T>, Failure>({
    queryKey: [path],
    enabled: path !== null,
    refetchInterval: every ?? false,
    queryFn: async ({ signal }) => {
      const began = Date.now();
      try {
        return await by(path!, signal);
      } catch (cause) {
        throw cause instanceof Failure || signal.aborted ? cause : new Failure(String(cause), 0);
      } finally {
        rested.current = Date.now() + rest(Date.now() - began);
      }
    },
  });
  useFollow(path, on, rested);
  const last = useRef<Answer<T>>(undefined);
  if (query.data) last.current = query.data;
  const answer = query.data ?? (keep ? last.current : undefined);
  return { data: answer?.data, failure: query.error ?? undefined, at: query.dataUpdatedAt };
}

/** Reads path again after each event that on accepts, at most once per rest. */
function useFollow(path: string | null, on: ((e: Event) => boolean) | undefined, rested: { current: number }) {
  const wanted = useRef(on);
  wanted.current = on;
  useEffect(() => {
    if (path === null) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const again = () => {
      timer = undefined;
      if (cache.isFetching({ queryKey: [path], exact: true })) soon(); // that answer may be older than the event
      else void cache.refetchQueries({ queryKey: [path], exact: true });
    };
    const soon = () => {
      timer ??= setTimeout(again, Math.max(cache.isFetching({ queryKey: [path], exact: true }) ? 100 : 0, rested.current - Date.now()));
    };
    const stop = live.hear((e) => {
      if (wanted.current?.(e) ?? true) soon();
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [path, rested]);
}
