import { expect, test } from "vitest";
import { neighbours } from "./graph";
import { pipeline } from "./sample";

test("neighbours are found in both directions", () => {
  const got = neighbours([pipeline("c", { after: ["b"] }), pipeline("b", { after: ["a", "gone"] }), pipeline("a")], "b");
  expect([got.up.map((p) => p.id), got.down.map((p) => p.id)]).toEqual([["a"], ["c"]]);
});
