import { expect, test } from "vitest";
import { clock, date, duration, fromWall, hour, knownZone, moment, offset, relative, utc } from "./time";

const noon = Date.UTC(2026, 2, 3, 12);

test("times are told in the chosen zone", () => {
  expect(clock(noon, "UTC")).toBe("12:00:00");
  expect(clock(noon, "Asia/Kolkata")).toBe("17:30:00");
  expect(date(Date.UTC(2026, 2, 3, 23), "Asia/Tokyo")).toBe("2026-03-04");
  expect(utc(noon)).toBe("2026-03-03T12:00:00Z");
});

test("a time of another day has its date", () => {
  expect(moment(noon, noon + hour, "UTC")).toBe("12:00:00");
  expect(moment(noon, noon + 24 * hour, "UTC")).toBe("2026-03-03 12:00:00");
});

test("offsets follow the clock changes", () => {
  expect(offset(Date.UTC(2026, 0, 1), "Europe/Berlin")).toBe(hour);
  expect(offset(Date.UTC(2026, 6, 1), "Europe/Berlin")).toBe(2 * hour);
});

test("a wall time is found on both sides of a clock change", () => {
  expect(fromWall(Date.UTC(2026, 2, 28), "Europe/Berlin")).toBe(Date.UTC(2026, 2, 27, 23));
  expect(fromWall(Date.UTC(2026, 2, 30), "Europe/Berlin")).toBe(Date.UTC(2026, 2, 29, 22));
});

test.each([
  [420, "420 ms"], [1200, "1.2 s"], [59_000, "59 s"], [60_000, "1 min"], [90_000, "1 min 30 s"], [3 * hour, "3 h"],
  [26 * hour, "1 d 2 h"], [-90_000, "−1 min 30 s"],
])("%d ms is %s", (ms, words) => {
  expect(duration(ms)).toBe(words);
});

test("what is to come is told from what was", () => {
  expect(relative(noon - 60_000, noon)).toBe("1 min ago");
  expect(relative(noon + 60_000, noon)).toBe("in 1 min");
  expect(relative(noon, noon)).toBe("now");
});

test("an unknown zone is known to be unknown", () => {
  expect(knownZone("Europe/Berlin")).toBe(true);
  expect(knownZone("Middle/Earth")).toBe(false);
});
