import { expect, test } from "vitest";
import { diff } from "./diff";

test("a difference keeps what is common", () => {
  expect(diff("a\nb\nc", "a\nx\nc").map((l) => l.mark + l.text)).toEqual([" a", "-b", "+x", " c"]);
  expect(diff("a", "a\nb").map((l) => l.mark + l.text)).toEqual([" a", "+b"]);
});
