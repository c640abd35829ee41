import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { files, views } from "./past";
import { hindrances, openBrowser, openPage, Server, visit, watch } from "./server";

let browser: Browser;
let server: Server;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  browser = await openBrowser();
  server = new Server(files);
  server.seed("-days", "35");
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
  expect(complaints).toEqual([]);
});

test("the timeline shows how deadlines stood", async () => {
  await visit(page, server, "/?span=4d");
  await page.getByRole("link", { name: /billing .*: completed.*deadline met/ }).first().waitFor();
});

test("compliance is told by pipeline and by owner, over 7, 30 and 90 days, and says so in the address", async () => {
  await visit(page, server, "/deadlines?view=kept");
  const rates = page.getByRole("table", { name: "Rates" });
  const row = rates.getByRole("row", { name: /ledger/ });
  await row.waitFor();
  expect(await row.innerText()).toContain("100 %");
  await page.getByRole("button", { name: "Breached", exact: true }).click();
  expect(new URL(page.url()).searchParams.get("sort")).toBe("-breached");
  expect(await rates.getByRole("row").last().innerText()).toContain("ledger");
  await page.getByRole("button", { name: "By owner" }).click();
  await rates.getByRole("cell", { name: "finance" }).waitFor();
  await page.getByRole("group", { name: "Over how many days" }).getByRole("button", { name: "7 days" }).click();
  expect(new URL(page.url()).searchParams.get("days")).toBe("7");
  await page.getByText("never completed").waitFor();
});

test("trends lead from all pipelines to the charts of one", async () => {
  await visit(page, server, "/trends");
  await page.getByRole("link", { name: "billing" }).click();
  await page.getByRole("heading", { name: "Trends of billing" }).waitFor();
  for (const name of [/Durations of \d+ runs/, /Attempts per period/, /Arrival of landed for \d+ periods/]) await page.getByRole("group", { name }).waitFor();
  await page.getByRole("cell", { name: "landed.count" }).first().waitFor();
  await page.getByRole("group", { name: /Durations of/ }).getByRole("link").last().focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: /^billing · / }).waitFor();
});

test("the graph leads upstream and downstream", async () => {
  await visit(page, server, "/pipelines/billing");
  const graph = page.getByRole("group", { name: "Graph" });
  await graph.getByRole("link", { name: /^ledger/ }).waitFor();
  await graph.getByRole("link", { name: /^orders/ }).click();
  await page.getByRole("heading", { name: "orders" }).waitFor();
  await graph.getByRole("link", { name: /^billing/ }).waitFor();
});

test("a rule has its history beside it, and opens to its last writes", async () => {
  await visit(page, server, "/pipelines/orders");
  await page.getByRole("img", { name: /count over the last \d+ writes/ }).waitFor();
  await page.getByRole("button", { name: "landed" }).first().click();
  await page.getByText("by loader").first().waitFor();
});

test("a file with problems is listed with their places, and mended when it is", async () => {
  await visit(page, server, "/config?show=problems");
  await page.getByText('unknown key "ownr"').waitFor();
  await page.getByText("1:24", { exact: true }).waitFor();
  server.edit("broken.yaml", "pipeline: {id: broken, owner: somebody}\n");
  await page.getByText('unknown key "ownr"').waitFor({ state: "detached" });
  server.edit("broken.yaml", files["broken.yaml"]!);
  await page.getByText("last good version").waitFor();
});

test("versions of a file are kept with what changed between them", async () => {
  await visit(page, server, "/pipelines/ledger");
  server.edit("ledger.yaml", files["ledger.yaml"]!.replace('"01:30"', '"01:45"'));
  const versions = page.getByRole("region", { name: "Versions" }).getByRole("button");
  await versions.nth(1).waitFor();
  await versions.first().click();
  await page.locator(".added", { hasText: "01:45" }).waitFor();
  await page.locator(".removed", { hasText: "01:30" }).waitFor();
});

test("nothing keeps people from using any view or dialog", async () => {
  for (const path of views) {
    await visit(page, server, path);
    expect(await hindrances(page), path).toEqual([]);
  }
  await visit(page, server, "/pipelines/billing");
  await page.getByRole("button", { name: "Trigger…" }).click();
  await page.getByRole("dialog", { name: "Trigger billing" }).waitFor();
  expect(await hindrances(page)).toEqual([]);
});

test("all of it can be read in the dark, too", async () => {
  await page.emulateMedia({ colorScheme: "dark" });
  for (const path of views) {
    await visit(page, server, path);
    expect(await hindrances(page, "color-contrast"), path).toEqual([]);
  }
});

for (const width of [360, 3840]) {
  test(`no view scrolls sideways on a screen of ${width} pixels`, async () => {
    await page.setViewportSize({ width, height: 800 });
    for (const path of views) {
      await visit(page, server, path);
      expect(await page.evaluate(() => document.documentElement.scrollWidth), path).toBeLessThanOrEqual(width);
    }
  });
}
