import { expect, test } from "vitest";
import { verdict } from "./why";

const gate = { open: true, bypassed: false, outcome: "pass" as const };

test("only a gate that lets a run start is green", () => {
  expect(verdict(gate, true)).toEqual({ word: "open", className: "open" });
  expect(verdict(gate, false)).toEqual({ word: "rules pass", className: "" });
  expect(verdict({ ...gate, bypassed: true }, true).className).toBe("warned");
  expect(verdict({ ...gate, open: false, outcome: "fail" }, true)).toEqual({ word: "closed", className: "closed" });
});
