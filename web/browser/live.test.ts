import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { hindrances, page, server, Server, useServer, visit } from "./server";

// What is true only while something runs: output, workers, deadlines, rules that time opens.

const signals = mkdtempSync(join(tmpdir(), "interlock-signals-"));
const signal = (name: string) => join(signals, name);

const day = new Date().toISOString().slice(0, 10);
const ahead = "23:59";

afterAll(() => rmSync(signals, { recursive: true, force: true })); // after the server has ended
useServer(
  1440, 900,
  () => new Server({
    "talks.yaml": `pipeline: {id: talks, owner: ops}\njob: {type: command, config: {command: [sh, -c, "echo first line; until [ -e ${signal("more")} ]; do sleep 0.1; done; echo second line; until [ -e ${signal("end")} ]; do sleep 0.1; done"], timeout: 10m}, pollInterval: 1s}\n`,
    "offered.yaml": "pipeline: {id: offered, owner: ops}\njob: {type: external, config: {heartbeat: 10m}}\n",
    "due.yaml": `pipeline: {id: due, owner: finance}\nschedule: {trigger: {key: go, check: exists}}\nsla: {deadline: "${ahead}", dayOffset: 1, critical: true}\njob: {type: command, config: {command: ["true"], timeout: 1m}}\n`,
    "late.yaml": "pipeline: {id: late, owner: sales}\nschedule: {trigger: {key: go, check: exists}}\nsla: {maxDuration: 1s}\nvalidation: {rules: [{key: ready, check: exists}]}\njob: {type: command, config: {command: [\"true\"], timeout: 1m}}\n",
    "risky.yaml": `pipeline: {id: risky, owner: ops}\nschedule: {trigger: {key: go, check: exists}}\nsla: {deadline: "${ahead}", dayOffset: 1}\njob: {type: command, config: {command: [sh, -c, exit 3], timeout: 1m}, pollInterval: 1s, maxRetries: 0, maxCodeRetries: 0}\n`,
    "prefers.yaml": "pipeline: {id: prefers, owner: ops}\nschedule: {evaluation: {window: 5h, interval: 1m}}\nvalidation: {preferUntil: 4h, rules: [{key: base, check: exists}, {key: extra, check: exists, level: preferred}]}\njob: {type: command, config: {command: [\"true\"], timeout: 1m}}\n",
  }),
  async () => {
    for (const pipeline of ["talks", "offered", "prefers"]) await server.send("POST", "/runs", { pipeline, date: day });
    await server.send("POST", "/runs", { pipeline: "risky", date: day });
    await server.send("PUT", `/pipelines/late/sensors/${encodeURIComponent(`go#${day}`)}`, { on: true });
    await server.send("PUT", `/pipelines/prefers/sensors/${encodeURIComponent(`base#${day}`)}`, { ready: true });
  },
);
afterAll(() => { // before the server ends
  for (const name of ["more", "end"]) if (!existsSync(signal(name))) writeFileSync(signal(name), "");
});

test("what a running job prints appears while it runs", async () => {
  await visit(page, server, `/runs/talks/manual/${day}`);
  const output = page.getByRole("region", { name: "Output" });
  await output.getByText("first line").waitFor();
  await output.getByText("live", { exact: true }).waitFor();
  expect(await output.getByText("second line").count()).toBe(0);
  writeFileSync(signal("more"), "");
  await output.getByText("second line").waitFor();
  writeFileSync(signal("end"), "");
  await page.locator(".lifecycle [aria-current=step]", { hasText: "Completed" }).waitFor();
});

test("an offered job names the worker that claims it, its heartbeat, and what it prints", async () => {
  await visit(page, server, `/runs/offered/manual/${day}`);
  await page.getByText("It starts when a worker claims it.").waitFor();
  const claim = (await server.send("POST", `/runs/offered/manual/${day}/claim`, { worker: "host-7" })) as { permit: string };
  await page.getByText(/Worker host-7, claimed at/).waitFor();
  await server.send("POST", `/runs/offered/manual/${day}/heartbeat`, { output: "row 1 of 9" }, claim.permit);
  await page.getByText(/last heartbeat at/).waitFor();
  await page.getByRole("region", { name: "Output" }).getByText("row 1 of 9").waitFor();
});

test("a rule that is only preferred says until when it counts, and no longer than that", async () => {
  await visit(page, server, `/runs/prefers/manual/${day}`);
  await page.getByText(/Opens automatically at .*, without the preferred rules/).waitFor();
  await visit(page, server, "/pipelines/prefers");
  await page.getByText(/Opens automatically at .*, without the preferred rules/).waitFor();
});

test("the board has the owner, the state of the run and whether it is critical, in cards on a phone", async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  await visit(page, server, "/deadlines");
  const card = page.getByRole("region", { name: "On track" }).getByRole("listitem").filter({ has: page.getByRole("link", { name: "due", exact: true }) }).first();
  await card.getByText("finance").waitFor();
  await card.getByText("critical").waitFor();
  await card.getByText("not open yet").waitFor();
  const overdue = page.getByRole("region", { name: "Overdue" }).getByRole("listitem").filter({ hasText: "late" });
  await overdue.getByText(/^overdue by/).waitFor();
  await overdue.getByText("waiting").waitFor();
  await overdue.getByText("sales").waitFor();
  const risky = page.getByRole("region", { name: "At risk" }).getByRole("listitem").filter({ hasText: "risky" });
  await risky.getByText("failed").waitFor();
  expect((await risky.boundingBox())!.y).toBeGreaterThan((await overdue.boundingBox())!.y); // one below the other
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  expect(await hindrances(page)).toEqual([]);
});
