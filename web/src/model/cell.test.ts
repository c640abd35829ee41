import { expect, test } from "vitest";
import { cells } from "./cell";
import { slot } from "./sample";
import { hour } from "./time";

const from = Date.UTC(2026, 2, 3);
const w = { from, to: from + 24 * hour };
const hours = (n: number, status = "COMPLETED") => Array.from({ length: n }, (_, i) => slot(`2026-03-03T${String(i).padStart(2, "0")}`, { status }));

test("each period lies where its time is", () => {
  const got = cells(hours(3), w, 2400);
  expect(got.map((c) => [c.left, c.width])).toEqual([[0, 100], [100, 100], [200, 100]]);
});

test("what sticks out of the window is cut", () => {
  const [day] = cells([slot("2026-03-03", { status: "RUNNING" })], { from: from + 12 * hour, to: from + 36 * hour }, 240);
  expect(day).toMatchObject({ left: 0, width: 120 });
  expect(cells([slot("2026-03-01")], w, 240)).toEqual([]);
});

test("periods too narrow to tell apart are drawn together, the worst of them to be seen", () => {
  const slots = hours(24);
  slots[5] = slot("2026-03-03T05", { status: "FAILED_FINAL" });
  const got = cells(slots, w, 48);
  expect(got.length).toBeLessThan(12);
  expect(got.flatMap((c) => c.slots)).toHaveLength(24);
  expect(got.filter((c) => c.kind === "final")).toHaveLength(1);
});
