import { expect, test } from "vitest";
import { files, views } from "./past";
import { hindrances, page, server, Server, useServer, visit } from "./server";

useServer(
  1280, 720,
  () => {
    const made = new Server(files);
    made.remember();
    return made;
  },
);

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

test("trends lead from all pipelines to the charts of one, and from their dots to runs", async () => {
  await visit(page, server, "/trends");
  await page.getByRole("row", { name: /billing/ }).getByRole("img", { name: /^p50 from .* over \d+ days$/ }).waitFor();
  await page.getByRole("link", { name: "billing" }).click();
  await page.getByRole("heading", { name: "Trends of billing" }).waitFor();
  for (const name of [/Durations of \d+ runs/, /Attempts per period/, /Arrival of landed for \d+ periods/]) await page.getByRole("group", { name }).waitFor();
  await page.getByRole("cell", { name: "landed.count" }).first().waitFor();
  const dots = page.getByRole("group", { name: /Durations of/ }).getByRole("link");
  const [before, last] = [await dots.nth(-2).getAttribute("href"), dots.last()];
  await last.focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: /^billing · / }).waitFor();
  expect(new URL(page.url()).pathname).toBe(before);
  await page.goBack();
  await last.click();
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

test("equal dead letters are one row with the sink's answer, and the navigation has their badge", async () => {
  await visit(page, server, "/alerts");
  const letters = page.getByRole("region", { name: "Dead letters" }).locator(".letters > li");
  await letters.getByText("110 × SLA_BREACH").waitFor();
  expect(await letters.count()).toBe(1);
  await letters.getByText("ops answered: 503 Service Unavailable").waitFor();
  expect(await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: /^Alerts/ }).innerText()).toMatch(/Alerts\s*1/);
  await visit(page, server, "/");
  await page.getByRole("region", { name: "Needs attention" }).getByText("110 alerts undelivered to ops, which answered: 503 Service Unavailable").waitFor();
});

test("events are found by text, type and time, on the server", async () => {
  const asked: URLSearchParams[] = [];
  page.on("request", (r) => new URL(r.url()).pathname === "/api/v1/events" && asked.push(new URL(r.url()).searchParams));
  const rows = () => page.locator(".events > li");
  const all = async (text: RegExp) => {
    await rows().filter({ hasText: text }).first().waitFor();
    await rows().filter({ hasNotText: text }).first().waitFor({ state: "detached" });
  };
  await visit(page, server, "/events");
  await page.getByLabel("Search the events").fill("moved after");
  await all(/moved after completion/);
  await page.getByLabel("Search the events").fill("");
  await page.getByRole("combobox", { name: "Filter by type" }).fill("breach");
  await page.getByRole("option", { name: /^SLA_BREACH/ }).click();
  await all(/SLA_BREACH/);
  const before = await rows().count();
  expect(before).toBeGreaterThan(1);
  await page.getByLabel("Time range").selectOption("7d");
  await expect.poll(() => rows().count()).toBeLessThan(before);
  expect(asked.some((q) => q.get("q") === "moved after")).toBe(true);
  expect(Object.fromEntries(asked.at(-1)!)).toMatchObject({ type: "SLA_BREACH", from: "7d" });
  expect(new URL(page.url()).search).toContain("type=SLA_BREACH");
});

const width = () => page.evaluate(() => document.documentElement.scrollWidth);

for (const path of views) {
  test(`${path} can be used by everybody, in both themes, on a phone and on a wide screen`, async () => {
    await visit(page, server, path);
    expect(await hindrances(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await hindrances(page, "color-contrast")).toEqual([]);
    for (const wide of [360, 3840]) {
      await page.setViewportSize({ width: wide, height: 800 });
      await expect.poll(width).toBeLessThanOrEqual(wide);
    }
  });
}

test("a dialog can be used by everybody", async () => {
  await visit(page, server, "/pipelines/billing");
  await page.getByRole("button", { name: "Trigger…" }).click();
  await page.getByRole("dialog", { name: "Trigger billing" }).waitFor();
  expect(await hindrances(page)).toEqual([]);
});
