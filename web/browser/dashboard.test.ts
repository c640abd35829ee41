import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { freeAddress, openBrowser, openPage, Server, watch } from "./server";

const orders = `
pipeline: {id: orders, owner: sales, description: All orders of an hour, tags: {layer: bronze}}
schedule:
  trigger: {key: landed, check: equals, field: complete, value: true}
  evaluation: {window: 1h, interval: 1m}
sla: {deadline: "23:59", expectedDuration: 10m}
validation:
  rules:
    - {key: rows, check: gte, field: count, value: 1000}
job: {type: command, config: {command: [echo, worked on it], timeout: 1m}, pollInterval: 1s}
`;
const report = `
pipeline: {id: report, owner: finance}
schedule: {after: [orders]}
job: {type: command, config: {command: [sh, -c, "echo no such table; exit 3"], timeout: 1m}, pollInterval: 1s, maxRetries: 0}
`;

let browser: Browser;
let server: Server;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  browser = await openBrowser();
  server = new Server({ "orders.yaml": orders, "report.yaml": report });
  server.url = await freeAddress(); // one of the tests stops it for a while
  await server.start();
});
afterAll(async () => {
  await browser?.close();
  await server?.remove();
});
beforeEach(async () => {
  page = await openPage(browser, { viewport: { width: 1280, height: 720 }, timezoneId: "UTC" });
  complaints = watch(page, server);
});
afterEach(async () => {
  await page.close();
});

const today = () => new Date().toISOString().slice(0, 10);
const day = today(); // the period that all tests are about, also past midnight

test("a reading is seen on the gate, and the run it opens on the timeline", async () => {
  await page.goto(`${server.url}/pipelines/orders?date=${day}`);
  await page.getByRole("img", { name: "unknown" }).waitFor();
  const sent = Date.now();
  await server.send("PUT", `/pipelines/orders/sensors/${encodeURIComponent(`rows#${day}`)}`, { count: 1200 });
  await page.getByRole("img", { name: "passes", exact: true }).waitFor();
  console.info(`a reading is seen after ${Date.now() - sent} ms`);
  await page.goto(`${server.url}/?span=2d`);
  await page.getByRole("link", { name: "orders", exact: true }).waitFor();
  await server.send("PUT", `/pipelines/orders/sensors/${encodeURIComponent(`landed#${day}`)}`, { complete: true });
  await page.getByRole("link", { name: new RegExp(`orders ${day}: completed`) }).waitFor();
  await page.getByRole("link", { name: new RegExp(`report ${day}: failed`) }).waitFor();
  expect(complaints).toEqual([]);
});

test("one click leads from a cell to the reason", async () => {
  await page.goto(`${server.url}/?span=2d`);
  await page.getByRole("link", { name: new RegExp(`report ${day}: failed`) }).click();
  await page.getByText("no such table").first().waitFor();
  expect(new URL(page.url()).pathname).toBe(`/runs/report/stream/${day}`);
  expect(await page.locator(".lifecycle [aria-current=step]").innerText()).toContain("Failed");
  await page.goBack();
  expect(new URL(page.url()).search).toBe("?span=2d");
  expect(complaints).toEqual([]);
});

test("an address leads to the same view again", async () => {
  await page.goto(`${server.url}/?group=owner&q=fin&zone=Asia%2FTokyo`);
  await page.locator(".head", { hasText: "finance" }).waitFor();
  expect(await page.getByRole("link", { name: "orders", exact: true }).count()).toBe(0);
  await expect.poll(() => page.getByRole("combobox", { name: "Time zone" }).inputValue()).toBe("Asia/Tokyo");
});

test("the keyboard is enough to find a pipeline and its last period", async () => {
  await page.goto(server.url);
  await page.getByRole("link", { name: "orders", exact: true }).waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys and marks" }).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  await page.getByRole("searchbox", { name: "Find" }).fill("report");
  await page.getByRole("option", { name: "report" }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "report" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("e");
  await page.getByRole("heading", { name: "Events" }).waitFor();
  expect(complaints).toEqual([]);
});

test("the next deadline leads to the period it is for", async () => {
  await page.goto(`${server.url}/deadlines`);
  const period = page.getByRole("region", { name: /On track|At risk|Overdue/ }).getByRole("listitem").first().getByRole("link").nth(1);
  const date = await period.innerText();
  await period.click();
  await page.getByRole("heading", { name: date }).waitFor();
  expect(complaints).toEqual([]);
});

test("events can be narrowed down, and say so in the address", async () => {
  await page.goto(`${server.url}/events?pipeline=report`);
  await page.getByText("JOB_FAILED").waitFor();
  await page.getByLabel("Minimum severity").selectOption("critical");
  await page.getByText("RETRY_EXHAUSTED").waitFor();
  expect(await page.getByText("JOB_FAILED").count()).toBe(0);
  expect(new URL(page.url()).searchParams.get("severity")).toBe("critical");
});

const fresh = () => page.getByText("Live", { exact: true });
const stale = () => page.getByText("Stale", { exact: true });

test("what is shown is called stale while the server is gone, and a view that failed meanwhile recovers when it is back", async () => {
  await page.goto(server.url);
  await fresh().waitFor();
  await page.getByRole("link", { name: "orders", exact: true }).waitFor();
  await page.waitForFunction(() => performance.getEntriesByType("resource").some((r) => r.name.includes("/deadlines-"))); // loaded while idle
  await server.stop();
  await page.getByText(/Connection lost at/).waitFor();
  await stale().waitFor();
  expect(await fresh().count()).toBe(0);
  await page.getByRole("link", { name: "orders", exact: true }).waitFor();
  await page.getByRole("link", { name: "Deadlines", exact: true }).click();
  await page.getByText("Could not read deadlines.").waitFor();
  await server.start();
  await fresh().waitFor();
  await page.getByRole("region", { name: "On track" }).getByRole("link", { name: "orders" }).first().waitFor();
  expect(await page.getByText("Could not read deadlines.").count()).toBe(0);
  await page.getByText(/Connection lost at/).waitFor({ state: "detached" });
});

test("a server that hangs is noticed by its missing heartbeat, although the connection stays open", async () => {
  await page.clock.install();
  await page.goto(server.url);
  await fresh().waitFor();
  await page.getByRole("link", { name: "orders", exact: true }).waitFor();
  server.freeze();
  await page.clock.fastForward(60_000); // more than three heartbeats
  await stale().waitFor();
  expect(await fresh().count()).toBe(0);
  server.thaw();
  await page.clock.fastForward(10_000); // the pause before the next attempt
  await fresh().waitFor();
  await stale().waitFor({ state: "detached" });
});
