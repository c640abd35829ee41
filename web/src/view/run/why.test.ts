import { expect, test } from "vitest";
import { verdict } from "./why";

type X = Parameters<typeof verdict>[0];

const told = (gate: object = {}, run: object | null = {}) => verdict({ gate: { live: true, open: true, bypassed: false, outcome: "pass", ...gate }, run } as unknown as X);

test("only a gate that lets a run start is green", () => {
  expect(told()).toEqual({ word: "open", className: "open" });
  expect(told({}, null)).toEqual({ word: "rules pass", className: "" });
  expect(told({ bypassed: true })?.className).toBe("warned");
  expect(told({ open: false, outcome: "fail" })).toEqual({ word: "closed", className: "closed" });
});

test("rules that pass now are not green where they start nothing", () => {
  expect(told({ open: false })).toEqual({ word: "rules pass, no start now", className: "" });
});
