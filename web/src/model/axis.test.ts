import { expect, test } from "vitest";
import { parseSpan, spanName, spans, ticks, title, windowOf, zoom } from "./axis";
import { day, hour, minute } from "./time";

const noon = Date.UTC(2026, 2, 3, 12);

test("every span has a name that is read back", () => {
  for (const s of spans) expect(parseSpan(spanName(s))).toBe(s);
  expect(parseSpan("a while")).toBeUndefined();
});

test("zoom stops at both ends", () => {
  expect(zoom(hour, 1)).toBe(3 * hour);
  expect(zoom(spans[0], -1)).toBe(spans[0]);
  expect(zoom(90 * day, 1)).toBe(90 * day);
});

test("a live window holds now, and stands still between its steps", () => {
  const a = windowOf(hour, undefined, noon);
  expect(windowOf(hour, undefined, noon + minute - 1)).toEqual(a);
  expect(windowOf(hour, undefined, noon + minute)).not.toEqual(a);
  expect(a.from).toBeLessThan(noon);
  expect(a.to).toBeGreaterThan(noon);
});

test("a chosen window begins where it was chosen", () => {
  expect(windowOf(hour, noon, 0)).toEqual({ from: noon, to: noon + hour });
});

test("ticks are at round times of the zone and keep their distance", () => {
  const w = { from: noon, to: noon + day };
  const got = ticks(w, 1200, "Asia/Kolkata");
  expect(got.every((t) => t.label.endsWith(":00") || t.major)).toBe(true);
  expect(got.filter((t) => t.major).map((t) => t.label)).toEqual(["Wed 03-04"]);
  for (let i = 1; i < got.length; i++) expect(((got[i]!.at - got[i - 1]!.at) / day) * 1200).toBeGreaterThanOrEqual(56);
});

test("days begin at local midnight on both sides of a clock change", () => {
  const w = { from: Date.UTC(2026, 2, 28, 12), to: Date.UTC(2026, 2, 31, 12) };
  const got = ticks(w, 300, "Europe/Berlin").filter((t) => t.major);
  expect(got.map((t) => new Date(t.at).toISOString())).toEqual(["2026-03-28T23:00:00.000Z", "2026-03-29T22:00:00.000Z", "2026-03-30T22:00:00.000Z"]);
});

test("one day is told once", () => {
  expect(title({ from: noon, to: noon + hour }, "UTC")).toBe("2026-03-03");
  expect(title({ from: noon, to: noon + day }, "UTC")).toBe("2026-03-03 – 2026-03-04");
});
