import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { Zone } from "../../ui/clock";
import { Lifecycle } from "./lifecycle";

type X = Parameters<typeof Lifecycle>[0]["x"];

const shown = (run: object) => {
  const ended = { status: "CANCELLED", endedAt: "2026-03-03T09:10:00Z", reason: "cancelled by ann", jobStopping: false, jobMayRun: false, ...run };
  const lifecycle = createElement(Lifecycle, { x: { run: ended } as unknown as X });
  return renderToStaticMarkup(createElement(Zone.Provider, { value: "UTC" }, lifecycle)).replace(/<[^>]+>/g, "");
};

describe("the step at which a run ended", () => {
  const order = (run: object) => shown(run).match(/Waiting for the gate|Starting the job|Running|Cancelled|Failed/g);
  it("is after its job started", () => {
    expect(order({ startedAt: "2026-03-03T09:00:00Z" })).toEqual(["Waiting for the gate", "Starting the job", "Running", "Cancelled"]);
  });
  it("is before, if no job started", () => {
    expect(order({ startedAt: null })).toEqual(["Waiting for the gate", "Cancelled", "Starting the job", "Running"]);
    expect(order({ startedAt: null, status: "FAILED_FINAL" })).toEqual(["Waiting for the gate", "Starting the job", "Failed", "Running"]);
  });
});

describe("a run that ended before its job", () => {
  it("says since when the job is stopping", () => {
    expect(shown({ jobStopping: true })).toMatch(/Its job has been stopping since .*09:10.*\. It keeps its slot, and a rerun is rejected, until it has ended\./);
  });
  it("says that the job may still be running", () => {
    expect(shown({ jobMayRun: true })).toContain("Its job could not be stopped and may still be running.");
  });
  it("says nothing of a job that has ended", () => {
    expect(shown({})).not.toMatch(/Its job/);
  });
});
