import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { backoff, Live } from "./live";

/** A stream that a test opens, feeds and breaks. */
class Stream {
  static all: Stream[] = [];
  onopen = () => {};
  onmessage = (_: unknown) => {};
  onerror = () => {};
  closed = false;
  private beats: ((m: { data: string }) => void)[] = [];
  constructor(readonly url: string) {
    Stream.all.push(this);
  }
  addEventListener(_: string, f: (m: { data: string }) => void) {
    this.beats.push(f);
  }
  beat(intervalSeconds: number) {
    for (const f of this.beats) f({ data: JSON.stringify({ intervalSeconds }) });
  }
  close() {
    this.closed = true;
  }
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", Stream);
  Stream.all = [];
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a server that is gone is asked ever less often, up to a limit", () => {
  expect([1, 2, 3, 10].map(backoff)).toEqual([500, 1000, 2000, 10_000]);
});

test("a stream that is silent for three heartbeats is lost, and everything is read again after reconnecting", () => {
  const live = new Live();
  let behind = 0;
  live.onBehind(() => behind++);
  live.start();
  Stream.all[0]!.onopen();
  Stream.all[0]!.beat(10);
  vi.advanceTimersByTime(29_000);
  expect(live.connection.state).toBe("live");
  vi.advanceTimersByTime(2000);
  expect(live.connection.state).toBe("lost");
  expect(Stream.all[0]!.closed).toBe(true);
  Stream.all[1]!.onopen();
  expect([live.connection.state, behind]).toEqual(["live", 1]);
});

test("a request without an answer makes the page stale at once, although the stream looks open", () => {
  const live = new Live();
  live.start();
  Stream.all[0]!.onopen();
  live.missed();
  expect(live.connection.state).toBe("lost");
});
