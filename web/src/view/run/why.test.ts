import { expect, test } from "vitest";
import { verdict } from "./why";

type X = Parameters<typeof verdict>[0];

const told = (code: string, gate: object = {}, run: object | null = {}) =>
  verdict({ gate: { live: true, open: true, bypassed: false, outcome: "pass", ...gate }, run, said: { summary: { code } } } as unknown as X);

test("only a gate that lets a run start is green", () => {
  expect(told("starts-at")).toEqual({ word: "open", className: "open" });
  expect(told("max-active")?.className).toBe("open");
  expect(told("no-run", {}, null)).toEqual({ word: "rules pass", className: "" });
  expect(told("starts-at", { bypassed: true })?.className).toBe("warned");
  expect(told("gate-closed", { open: false, outcome: "fail" })).toEqual({ word: "closed", className: "closed" });
});

test("rules that pass now are not green where they start nothing", () => {
  for (const code of ["gate-closed", "start-deadline", "unclaimed", "paused", "not-due", "retrying"]) {
    expect(told(code)).toEqual({ word: "rules pass, no start now", className: "" });
  }
  expect(told("completed", { live: false })).toEqual({ word: "open", className: "open" }); // as it was at the start
});
