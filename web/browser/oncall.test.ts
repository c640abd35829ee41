import { createServer, type Server as Target } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { files } from "./past";
import { hindrances, openBrowser, openPage, Server, visit, watch } from "./server";

// What a person on call needs: what is wrong, why, and what to press.

const command = (script: string, retries = 3) => `job: {type: command, config: {command: [sh, -c, "${script}"], timeout: 5m}, pollInterval: 1s, maxRetries: ${retries}, maxCodeRetries: 0}\n`;

let browser: Browser;
let server: Server;
let target: Target;
let page: Page;
let complaints: string[];

const day = new Date().toISOString().slice(0, 10);

beforeAll(async () => {
  browser = await openBrowser();
  target = createServer((q) => q.socket.destroy()); // it may have started, and nobody knows
  await new Promise<void>((resolve) => target.listen(0, "127.0.0.1", resolve));
  const { port } = target.address() as AddressInfo;
  server = new Server(
    {
      ...files,
      "final.yaml": `pipeline: {id: final, owner: ops}\n${command("echo connecting; echo no such table; exit 3", 0)}`,
      "retry.yaml": `pipeline: {id: retry, owner: ops}\n${command("echo connection refused; exit 75")}`,
      "done.yaml": `pipeline: {id: done, owner: ops}\n${command("echo loaded")}`,
      "slow.yaml": `pipeline: {id: slow, owner: ops}\n${command("echo first line; sleep 600")}`,
      "gated.yaml": `pipeline: {id: gated, owner: ops}\nvalidation: {rules: [{key: ready, check: gte, field: count, value: 1000}]}\n${command("echo worked")}`,
      "lost.yaml": `pipeline: {id: lost, owner: ops}\njob: {type: http, config: {url: "http://127.0.0.1:${port}/", method: POST, timeout: 5s}, maxRetries: 0}\n`,
    },
    "egress: {allow: [127.0.0.0/8]}\n",
  );
  server.remember();
  await server.start();
  for (const pipeline of ["final", "retry", "done", "slow", "gated", "lost"]) await server.send("POST", "/runs", { pipeline, date: day });
});
afterAll(async () => {
  await browser?.close();
  await server?.remove();
  target?.close();
});
beforeEach(async () => {
  page = await openPage(browser, { viewport: { width: 1440, height: 900 }, timezoneId: "UTC" });
  complaints = watch(page, server);
});
afterEach(async () => {
  await page.close();
  expect(complaints.filter((c) => !c.includes("409"))).toEqual([]); // a refused rerun
});

const attention = () => page.getByRole("region", { name: "Needs attention" });
const dialog = () => page.getByRole("dialog");
const cell = (name: RegExp) => page.getByRole("link", { name });

test("what needs attention stands above the lanes, whatever time they show, each with its action", async () => {
  await visit(page, server, `/?span=1h&at=${day}T00:00:00Z`);
  const all = attention().getByRole("button", { name: /^Show all/ });
  await attention().getByRole("listitem").first().waitFor();
  if (await all.count()) await all.click();
  const failed = attention().getByRole("listitem").filter({ hasText: "final" });
  await failed.getByText("exit code 3, no such table").waitFor();
  await attention().getByRole("listitem").filter({ hasText: "broken" }).getByText("file rejected").waitFor();
  await failed.getByRole("button", { name: "Rerun…" }).click();
  await dialog().getByRole("heading", { name: `Rerun final ${day}` }).waitFor();
  expect(await hindrances(page)).toEqual([]);
});

test("a retry is no closed gate: its cell, its chip and its page say that it failed and when it goes on", async () => {
  await visit(page, server, "/?span=2d");
  await cell(/^retry .*: failed, retrying/).first().waitFor();
  expect(parseInt(await page.getByRole("button", { name: /failed, retrying/ }).innerText())).toBeGreaterThan(0);
  await cell(/^retry .*: failed, retrying/).first().click();
  await page.getByRole("heading", { name: `retry · ${day}` }).waitFor();
  await page.getByText(/attempt \d failed: exit code 75, connection refused/).first().waitFor();
});

test("the reason is in the cell, can be pinned with its actions, and Escape gives the focus back", async () => {
  await visit(page, server, "/?span=2d");
  const gated = cell(/^gated .*: waiting/);
  await gated.focus();
  await page.getByRole("tooltip").getByText(/ready/).waitFor();
  await page.keyboard.press(" ");
  await dialog().getByRole("button", { name: "Start anyway…" }).waitFor();
  expect(await hindrances(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await dialog().waitFor({ state: "detached" });
  await page.waitForFunction(() => document.activeElement?.classList.contains("cell"));
});

test("the run page leads with the cause and the output, which can be searched", async () => {
  await visit(page, server, `/runs/final/manual/${day}`);
  await page.getByText(/failed after 1 attempt: exit code 3, no such table/).first().waitFor();
  const output = page.getByRole("region", { name: "Output" });
  await output.getByLabel("Search the output").fill("TABLE");
  await output.getByText("1 of 1").waitFor();
  expect(await output.locator("mark").innerText()).toBe("table");
});

test("a refused rerun offers to force it, with the reason that was typed", async () => {
  await visit(page, server, `/runs/done/manual/${day}`);
  await page.locator(".lifecycle [aria-current=step]", { hasText: "Completed" }).waitFor();
  await page.getByRole("button", { name: "Rerun…" }).first().click();
  await dialog().getByText(/^Opens attempt 2, if an input has changed since attempt 1 started/).waitFor();
  await dialog().getByLabel("Reason").fill("the table is there");
  await dialog().getByRole("button", { name: "Rerun", exact: true }).click();
  await dialog().getByText(/no reading of its gate or start condition has changed/).waitFor();
  await dialog().getByRole("button", { name: "Force…" }).click();
  await dialog().getByRole("heading", { name: /^Force a rerun/ }).waitFor();
  await dialog().getByText(/^the circuit breaker/).waitFor();
  expect(await dialog().getByLabel("Reason").inputValue()).toBe("the table is there");
});

test("once the budget is used up, only a forced rerun is offered", async () => {
  await visit(page, server, `/runs/final/manual/${day}`);
  await page.getByRole("group", { name: "What would open it" }).getByRole("button", { name: "Rerun…" }).click();
  await dialog().getByLabel("Reason").fill("the table is there");
  await dialog().getByRole("button", { name: "Rerun", exact: true }).click();
  await page.getByText(/failed after 2 attempts/).first().waitFor();
  await page.getByRole("button", { name: "Force…" }).first().waitFor();
  expect(await page.getByRole("button", { name: "Rerun…" }).count()).toBe(0);
});

test("a closed rule pushes what it needs, and a waiting run can start anyway", async () => {
  await visit(page, server, `/runs/gated/manual/${day}`);
  await page.getByRole("button", { name: "Push ready…" }).first().click();
  expect(await dialog().getByLabel("Key").inputValue()).toBe("ready");
  expect(await dialog().getByLabel("Period").inputValue()).toBe(day);
  expect(await dialog().getByLabel("Data").inputValue()).toBe('{"count":1000}');
  await dialog().getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Start anyway…" }).first().click();
  await dialog().getByText("ready: count ≥ 1000").waitFor();
  await dialog().getByLabel("Reason").fill("the count is wrong");
  await dialog().getByRole("button", { name: "Start anyway" }).click();
  await page.locator(".lifecycle [aria-current=step]", { hasText: "Completed" }).waitFor();
  await page.getByText("bypassed", { exact: true }).waitFor();
  expect(await page.locator(".verdict.open").count()).toBe(0);
});

test("a start of which nobody knows whether it happened is held, counted, and red", async () => {
  await visit(page, server, "/?span=2d");
  await cell(/^lost .*: held/).waitFor();
  await attention().getByRole("listitem").filter({ hasText: "lost" }).getByRole("button", { name: "Report result…" }).waitFor();
  expect(await page.getByRole("button", { name: /^1 held/ }).count()).toBe(1);
});

test("on the execution axis a running job grows up to now", async () => {
  await visit(page, server, "/?span=1h");
  await page.getByRole("button", { name: "Execution" }).click();
  await cell(/^slow .*: running/).and(page.locator(".growing")).waitFor();
  expect(new URL(page.url()).searchParams.get("axis")).toBe("execution");
});

test("ninety days are complete: counted where they do not fit, and a click zooms in", async () => {
  await visit(page, server, "/?span=90d");
  const bucket = cell(/^orders .*\d+ periods/).first();
  await bucket.waitFor();
  const completed = parseInt(await page.getByRole("button", { name: /completed/ }).innerText());
  expect(completed).toBeGreaterThan(60 * 24);
  await bucket.click();
  expect(new URL(page.url()).searchParams.get("span")).not.toBe("90d");
});

test("a pipeline can be silenced where one reads about it", async () => {
  await visit(page, server, "/pipelines/final");
  await page.getByRole("button", { name: "Silence…" }).click();
  expect(await dialog().getByLabel("Pipelines").inputValue()).toBe("final");
  await dialog().getByLabel("Reason").fill("known");
  await dialog().getByRole("button", { name: "Silence", exact: true }).click();
  await page.getByText("Alerts about final are held back.").waitFor();
});
