import { expect, test } from "vitest";
import { pipeline } from "../../model/sample";
import { day, hour } from "../../model/time";
import { usualSpan } from "./view";

test("how much is shown follows the most common period", () => {
  expect(usualSpan([pipeline("a", { period: "minute" }), pipeline("b", { period: "minute" }), pipeline("c", { period: "day" })])).toBe(hour);
  expect(usualSpan([pipeline("a", { period: "hour" })])).toBe(day);
  expect(usualSpan([pipeline("a", { period: "day" })])).toBe(14 * day);
});
