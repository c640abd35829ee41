import { expect, test } from "vitest";
import { page, server, Server, useServer, visit } from "./server";

// What the pages say and offer is so: no button that cannot work, no sentence that is wrong.

const job = 'job: {type: command, config: {command: [sh, -c, "exit 0"], timeout: 1m}, pollInterval: 1s}\n';
const failing = 'job: {type: command, config: {command: [sh, -c, "test $INTERLOCK_DATE != 2026-03-02"], timeout: 1m}, pollInterval: 1s, maxRetries: 0, maxCodeRetries: 0}\n';

const day = "2026-03-03";

useServer(
  1400, 1000,
  () => new Server({
    "frozen.yaml": `pipeline: {id: frozen, owner: ops}\nvalidation: {rules: [{not: {key: freeze, check: exists}}, {key: ready, check: equals, field: status, value: "yes"}]}\n${job}`,
    "up.yaml": `pipeline: {id: up, owner: ops}\nschedule: {trigger: {key: go, check: exists}}\n${job}`,
    "down.yaml": `pipeline: {id: down, owner: ops}\nschedule: {after: [up]}\nprobes: [{key: quality, command: [sh, -c, "exit 1"], ttl: 1h, timeout: 10s}]\nvalidation: {rules: [{key: quality, check: equals, field: status, value: PASS}, {key: rows, check: gte, field: count, value: 5}]}\n${job}`,
    "held.yaml": `pipeline: {id: held, owner: ops}\nvalidation: {rules: [{key: ready, check: exists}]}\n${job}`,
    "closed.yaml": `pipeline: {id: closed, owner: ops}\nschedule: {evaluation: {window: 1s, interval: 1s}}\nvalidation: {rules: [{key: ready, check: exists}]}\n${job}`,
    "quarters.yaml": `pipeline: {id: quarters, owner: ops}\nschedule: {cron: "*/15 * * * *"}\nvalidation: {rules: [{key: ready, check: exists}]}\n${job}`,
    "fed.yaml": `pipeline: {id: fed, owner: ops}\nschedule: {trigger: {key: go, check: equals, field: status, value: ready}, period: day}\nsla: {maxDuration: 2h}\n${job}`,
    "older.yaml": `pipeline: {id: older, owner: ops}\n${failing}`,
  }),
);

const dialog = () => page.getByRole("dialog");
const button = (name: string | RegExp) => page.getByRole("button", { name });
const put = (pipeline: string, key: string, data: object) => server.send("PUT", `/pipelines/${pipeline}/sensors/${encodeURIComponent(key)}`, data);
const open = (pipeline: string, date = day) => server.send("POST", "/runs", { pipeline, date });

/** Opens a run and waits until it has such a status. */
async function opened(pipeline: string, date: string, status: string): Promise<void> {
  await open(pipeline, date);
  await visit(page, server, `/runs/${pipeline}/manual/${date}`);
  await page.locator(".lifecycle [aria-current=step]", { hasText: status }).waitFor();
}

test("a veto is shown as one, and offers neither a push that keeps it nor a start past it", async () => {
  await put("frozen", `freeze#${day}`, { on: true });
  await opened("frozen", day, "Waiting");
  await button("Push ready…").first().waitFor();
  await page.getByRole("cell", { name: "not exists" }).waitFor();
  expect(await button("Push freeze…").count()).toBe(0);
  expect(await button("Start anyway…").count()).toBe(0);
  await server.send("DELETE", `/pipelines/frozen/sensors/freeze?date=${day}`, undefined);
  await button("Start anyway…").first().waitFor();
});

test("no push is offered for what the engine or a probe writes, on the run's page and the pipeline's", async () => {
  for (const path of [`/runs/down/stream/${day}`, `/pipelines/down?date=${day}`]) {
    await visit(page, server, path);
    await button("Push rows…").first().waitFor();
    expect(await button(/^Push (run\/up|quality)…/).count(), path).toBe(0);
  }
  await button("Push rows…").first().click();
  await dialog().getByText("Push it only if it is true: rows with count gte 5.").waitFor();
  expect(await dialog().getByLabel("Data").inputValue()).toBe('{"count":5}');
});

test("a run that a pause holds says how it goes on, and offers the end of the pause", async () => {
  await opened("held", day, "Waiting");
  await server.send("POST", "/pipelines/held/pause", { reason: "migration" });
  await page.getByText(/It continues when the pipeline is resumed. Otherwise the run ends as VALIDATION_EXHAUSTED at/).first().waitFor();
  expect(await page.getByText("Nothing more happens automatically").count()).toBe(0);
  expect(await page.getByText("Its gate is evaluated again").count()).toBe(0);
  expect(await button("Start anyway…").count()).toBe(0);
  await button("Resume…").first().click();
  await dialog().getByRole("button", { name: "Resume" }).click();
  await page.getByText("held is resumed.").waitFor();
  await page.getByText(/It continues when/).first().waitFor({ state: "detached" });
});

test("a pause of all pipelines can be ended where it holds a run", async () => {
  await opened("held", "2026-03-04", "Waiting");
  await server.send("POST", "/pause", { reason: "freeze" });
  await button("Resume all…").first().click();
  await dialog().getByRole("button", { name: "Resume" }).click();
  await page.getByText("The pause of all pipelines has ended.").waitFor();
  await button("Start anyway…").first().waitFor();
});

test("a rerun of a run that did not start warns of no job and of no changed input", async () => {
  await opened("closed", day, "Window ended");
  await button("Rerun…").first().click();
  await dialog().getByText(/Opens attempt 2\. No job has run for this period\./).waitFor();
  await dialog().getByRole("button", { name: "Cancel" }).click();
  await button("Force…").click();
  await dialog().getByText(/the budget of manual reruns, of which 0 of 1 are used/).waitFor();
  for (const wrong of ["circuit breaker", "running job", "calendar"]) expect(await dialog().getByText(wrong).count(), wrong).toBe(0);
});

test("the period by default is one that the schedule has", async () => {
  await visit(page, server, "/pipelines/quarters");
  expect(await page.getByLabel("Period").first().inputValue()).toMatch(/T\d\d:(00|15|30|45)$/);
  await button("Trigger…").click();
  expect(await dialog().getByLabel("Period").getAttribute("placeholder")).toMatch(/^default: \d{4}-\d\d-\d\dT\d\d:(00|15|30|45)$/);
  await dialog().getByRole("button", { name: "Trigger" }).click();
  await page.getByText(/^The run of quarters for \S+T\d\d:(00|15|30|45) is open\./).waitFor();
});

test("a period that has only a deadline has a cell", async () => {
  const today = new Date().toISOString().slice(0, 10);
  await put("fed", `go#${today}`, { status: "loading" });
  await put("fed", `go#${day}`, { status: "loading" });
  await visit(page, server, "/?span=2d");
  await page.getByRole("link", { name: new RegExp(`^fed ${today}: no run yet, deadline armed`) }).waitFor();
  await page.getByRole("link", { name: new RegExp(`^fed ${day}: no run yet, deadline armed, outside`) }).waitFor();
});

test("an older failure stays when a newer run completes", async () => {
  await opened("older", "2026-03-02", "Failed");
  await opened("older", "2026-03-03", "Completed");
  await visit(page, server, "/");
  const row = page.getByRole("region", { name: "Needs attention" }).getByRole("listitem").filter({ hasText: "older" });
  await row.getByText("2026-03-02").waitFor();
  await row.getByRole("button", { name: "Rerun…" }).click();
  await dialog().getByText(/Opens attempt 2\. The gate is evaluated again, then the job runs once more\./).waitFor();
});

test("a cancelled run stands where it was cancelled", async () => {
  await opened("held", "2026-03-05", "Waiting");
  await button("Cancel…").click();
  await dialog().getByText("Ends the run and its deadlines. No job of this attempt has started.").waitFor();
  await dialog().getByLabel("Reason").fill("not needed");
  await dialog().getByRole("button", { name: "Cancel the run" }).click();
  await page.locator(".lifecycle [aria-current=step]", { hasText: "Cancelled" }).waitFor();
  expect(await page.locator(".lifecycle li").allInnerTexts().then((all) => all.map((t) => t.split("\n")[0]))).toEqual(["Waiting for the gate", "Cancelled", "Starting the job", "Running", "Completed"]);
});
