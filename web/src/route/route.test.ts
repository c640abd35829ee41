import { expect, test } from "vitest";
import { parsePlace, pipelinePath, runPath, withQuery } from "./route";

test("addresses lead back to their views", () => {
  expect(parsePlace("/")).toEqual({ view: "timeline" });
  expect(parsePlace(pipelinePath("a b/c"))).toEqual({ view: "pipeline", id: "a b/c" });
  expect(parsePlace(runPath("a", "cron", "2026-03-03T10:15"))).toEqual({ view: "run", pipeline: "a", schedule: "cron", date: "2026-03-03T10:15" });
  expect(parsePlace("/nowhere/else").view).toBe("unknown");
  expect(parsePlace("/pipelines/%E0%A4%A").view).toBe("unknown");
});

test("what is empty leaves the address", () => {
  expect(withQuery("?a=1&b=2", { a: undefined, c: "3 4" })).toBe("?b=2&c=3+4");
  expect(withQuery("?a=1", { a: "" })).toBe("");
});
