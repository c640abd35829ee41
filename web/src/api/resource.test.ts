import { expect, test } from "vitest";
import { rest } from "./resource";

test("a slow server is left alone for longer, up to a limit", () => {
  expect([0, 50, 500, 60_000].map(rest)).toEqual([250, 250, 2000, 10_000]);
});
