import { expect, test } from "vitest";
import { cardOf, inColumn } from "./board";
import type { Deadline } from "./lateness";
import { pipeline } from "./sample";

const noon = Date.parse("2026-03-03T12:00:00Z");
const at = (hours: number) => new Date(noon + hours * 3_600_000).toISOString();
const deadline = (hours: number, over: Partial<Deadline> = {}) => ({ pipeline: "a", schedule: "cron", date: "2026-03-02", kind: "absolute", state: "ARMED", breachAt: at(hours), warned: false, ...over }) as Deadline;
const takes = (hours: number) => ({ durations: { count: 30, longestSeconds: 0, p50Seconds: 60, p90Seconds: hours * 3600, p99Seconds: hours * 3600 } });
const running = (hours: number) => pipeline("a", { owner: "data", lastRun: { schedule: "cron", date: "2026-03-02", phase: "running", status: "RUNNING", startedAt: at(hours), endedAt: null } as never });

test("a deadline is at risk once the p90 of the durations ends after it", () => {
  expect(cardOf(deadline(3), running(-1), takes(2), noon).column).toBe("track");
  expect(cardOf(deadline(3), running(-1), takes(5), noon)).toMatchObject({ column: "risk", expectedEnd: noon + 4 * 3_600_000, owner: "data" });
  expect(cardOf(deadline(3), pipeline("a"), takes(4), noon).column).toBe("risk"); // it has not even opened
});

test("a deadline that warned is at risk, one that has passed is overdue, and without history nothing is guessed", () => {
  expect(cardOf(deadline(3, { warned: true }), running(-1), undefined, noon)).toMatchObject({ column: "risk", expectedEnd: undefined });
  expect(cardOf(deadline(-1), running(-1), undefined, noon).column).toBe("overdue");
  expect(cardOf(deadline(-1, { state: "BREACHED" }), undefined, undefined, noon).column).toBe("overdue");
});

test("the most pressing card of a column comes first", () => {
  const cards = [deadline(3), deadline(1), deadline(2)].map((d) => cardOf(d, undefined, undefined, noon));
  expect(inColumn(cards, "track").map((c) => c.deadline.breachAt)).toEqual([at(1), at(2), at(3)]);
});
