import { expect, test } from "vitest";
import { backoff } from "./live";

test("a server that is gone is asked ever less often, up to a limit", () => {
  expect([1, 2, 3, 10].map(backoff)).toEqual([500, 1000, 2000, 10_000]);
});
