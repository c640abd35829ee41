import { expect, test } from "vitest";
import { allows, fits, type Role } from "./role";

const session = (role: Role, pipelines: string[] = []) => ({ name: "x", role, pipelines, tokens: true, expiresAt: null });

test.each([["viewer", false], ["sensor", false], ["runner", false], ["operator", true], ["admin", true]] as const)("a %s may pause: %s", (role, may) => {
  expect(allows(session(role), "operator", "orders")).toBe(may);
});

test("a runner reads, and writes no readings", () => {
  expect(allows(session("runner"), "viewer", "orders")).toBe(true);
  expect(allows(session("runner"), "sensor", "orders")).toBe(false);
});

test("a limited token may only what is about its pipelines", () => {
  const s = session("operator", ["silver-*"]);
  expect(allows(s, "operator", "silver-orders")).toBe(true);
  expect(allows(s, "operator", "orders")).toBe(false);
  expect(allows(s, "operator")).toBe(false);
});

test("a pattern is no regular expression", () => {
  expect(fits("a.b", "axb")).toBe(false);
  expect(fits("a?c", "abc")).toBe(true);
  expect(fits("[ab]", "b")).toBe(true);
  expect(fits("[", "[")).toBe(false);
});
