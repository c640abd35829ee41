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
