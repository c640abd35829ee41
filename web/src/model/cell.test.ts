import { expect, test } from "vitest";
import { cells } from "./cell";
import { slot } from "./sample";
import { hour } from "./time";

const from = Date.UTC(2026, 2, 3);
const w = { from, to: from + 24 * hour };
const hours = (n: number) => Array.from({ length: n }, (_, i) => slot(`2026-03-03T${String(i).padStart(2, "0")}`, { phase: "completed" }));
const lane = (slots: ReturnType<typeof slot>[]) => ({ slots, buckets: [] });

test("each period lies where its time is", () => {
  const got = cells(lane(hours(3)), w, 2400);
  expect(got.map((c) => [c.left, c.width])).toEqual([[0, 100], [100, 100], [200, 100]]);
});

test("a failed period that the window does not reach stands at its edge, also beside buckets", () => {
  const old = slot("2026-02-01", { phase: "failed", outside: true });
  const bucket = {
    from: "2026-03-03T00:00:00Z", to: "2026-03-03T12:00:00Z", worst: "completed", counts: { completed: 7 }, total: 7, bypassed: 0,
    breached: 0, schedule: "cron", first: "2026-03-03T00", last: "2026-03-03T06",
  };
  expect(cells({ slots: [old], buckets: [bucket] }, w, 240).map((c) => [c.kind, c.total, c.outside])).toEqual([["final", 1, true], ["completed", 7, false]]);
  const due = slot("2026-03-01", { phase: "failed" }); // only its deadline lies in the window
  expect(cells(lane([due]), w, 240)).toMatchObject([{ kind: "final", outside: true }]);
});

test("what sticks out of the window is cut", () => {
  const [day] = cells(lane([slot("2026-03-03", { phase: "running" })]), { from: from + 12 * hour, to: from + 36 * hour }, 240);
  expect(day).toMatchObject({ left: 0, width: 120 });
  expect(cells(lane([slot("2026-03-01")]), w, 240)).toEqual([]);
});

test("periods too narrow to tell apart are drawn together, the worst of them to be seen", () => {
  const slots = hours(24);
  slots[5] = slot("2026-03-03T05", { phase: "failed" });
  const got = cells(lane(slots), w, 48);
  expect(got.length).toBeLessThan(12);
  expect(got.reduce((n, c) => n + c.total, 0)).toBe(24);
  expect(got.filter((c) => c.kind === "final")).toHaveLength(1);
});

test("on the execution axis a run lies where it ran, and one that runs grows up to now", () => {
  const at = (h: number) => new Date(from + h * hour).toISOString();
  const ended = slot("2026-03-02", { phase: "completed", openedAt: at(1), startedAt: at(2), endedAt: at(3) });
  const running = slot("2026-03-03", { phase: "running", openedAt: at(4), startedAt: at(5) });
  const got = cells(lane([ended, running]), w, 240, "execution", from + 8 * hour);
  expect(got.map((c) => [c.left, c.width, c.growing])).toEqual([[20, 10, false], [50, 30, true]]);
});

test("buckets are drawn with their worst phase and exact counts", () => {
  const bucket = {
    from: "2026-03-03T00:00:00Z", to: "2026-03-03T12:00:00Z", worst: "failed", counts: { completed: 700, failed: 2, backoff: 1, settling: 1 }, total: 704, bypassed: 0,
    breached: 3, schedule: "cron", first: "2026-03-03T00:00", last: "2026-03-03T11:59",
  };
  const [cell] = cells({ slots: [], buckets: [bucket] }, w, 240);
  expect(cell).toMatchObject({ left: 0, width: 120, kind: "final", total: 704, promise: "breached" });
  expect(Object.fromEntries(cell!.counts)).toEqual({ completed: 700, final: 2, failed: 2 });
});

test("an open run outside the window stands at its edge, and a completed one does not", () => {
  const old = (phase: "waiting" | "completed") => slot("2026-02-01", { phase, outside: true });
  expect(cells(lane([old("waiting")]), w, 240)).toMatchObject([{ left: 0, outside: true, kind: "waiting" }]);
  expect(cells(lane([old("completed")]), w, 240)).toEqual([]);
});
