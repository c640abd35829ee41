import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, afterEach, expect, test } from "vitest";
import { openBrowser, openPage, Server, visit, watch } from "./server";

const manual = (id: string, more = "") => `
pipeline: {id: ${id}, owner: ops}
validation: {rules: [{key: ready, check: equals, field: status, value: "yes"}]}
${more}`;

let browser: Browser;
let server: Server;
let page: Page;
let complaints: string[];

const tokens = { OPS: "operator-0123456789", WALL: "viewer-0123456789" };

beforeAll(async () => {
  browser = await openBrowser();
  server = new Server(
    { "load.yaml": manual("load"), "trial.yaml": manual("trial"), "report.yaml": "pipeline: {id: report, owner: ops}\njob: {type: command, config: {command: [sh, -c, exit 3], timeout: 1m}, pollInterval: 1s, maxCodeRetries: 0}\n" },
    "auth: {tokens: [{name: ops, role: operator, tokenEnv: OPS}, {name: wall, role: viewer, tokenEnv: WALL}]}\n",
  );
  await server.start(tokens);
});
afterAll(async () => {
  await browser?.close();
  await server?.remove();
});
beforeEach(async () => {
  page = await openPage(browser, { viewport: { width: 1280, height: 720 }, timezoneId: "UTC" });
  await login(page, tokens.OPS);
  complaints = watch(page, server);
});
afterEach(async () => {
  await page.close();
  expect(complaints.filter((c) => !c.includes("409"))).toEqual([]);
});

async function login(page: Page, token: string): Promise<void> {
  await page.goto(server.url);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("Live", { exact: true }).waitFor();
}

const dialog = () => page.getByRole("dialog");

/** Presses the button of an action, fills in its dialog and sends it. */
async function ask(button: string, submit: string, fill: Record<string, string> = {}): Promise<void> {
  await page.getByRole("button", { name: button }).first().click();
  for (const [label, text] of Object.entries(fill)) await dialog().getByLabel(label).fill(text);
  await dialog().getByRole("button", { name: submit }).click();
}

const day = "2026-03-03";

test("a run is triggered, started by a reading that is pushed, and ended by a result that is reported", async () => {
  await visit(page, server, "/pipelines/load");
  await ask("Trigger…", "Trigger", { Period: day, Reason: "to see" });
  await page.getByText(`The run of load for ${day} is open.`).waitFor();
  await ask("Push a reading…", "Push", { Key: "ready", Period: day, Data: '{"status": "yes"}' });
  await page.getByText(/Written as version/).waitFor();
  await visit(page, server, `/runs/load/manual/${day}`);
  await page.locator(".lifecycle [aria-current=step]", { hasText: "Running" }).waitFor();
  await ask("Report result…", "Report", { Message: "5 rows" });
  await page.getByText("The result is recorded.").waitFor();
  await page.locator(".lifecycle [aria-current=step]", { hasText: "Completed" }).waitFor();
});

test("a rerun is refused in the dialog, and forced by one that names what is skipped", async () => {
  await server.send("POST", "/runs", { pipeline: "report", date: day }, tokens.OPS);
  await visit(page, server, `/runs/report/manual/${day}`);
  await page.locator(".lifecycle [aria-current=step]", { hasText: "Failed" }).waitFor();
  await ask("Rerun…", "Rerun", { Reason: "once more" });
  await page.getByText("Attempt 2 is open.").or(dialog().getByRole("alert")).first().waitFor();
  if (await dialog().count()) await dialog().getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByRole("button", { name: "Force…" }).waitFor();
  await page.getByRole("button", { name: "Force…" }).click();
  await dialog().getByText(/the budget of manual reruns, of which \d of 1 are used/).waitFor();
  await dialog().getByLabel("Reason").fill("the table is there now");
  await dialog().getByRole("button", { name: "Force rerun" }).click();
  await dialog().waitFor(); // what is skipped has not been confirmed
  await dialog().getByLabel("I understand that these checks are skipped").check();
  await dialog().getByRole("button", { name: "Force rerun" }).click();
  await page.getByText(/Attempt \d+ is open./).waitFor();
  await page.getByText("the table is there now").first().waitFor();
});

test("an open run is cancelled with its reason", async () => {
  await server.send("POST", "/runs", { pipeline: "trial", date: day }, tokens.OPS);
  await visit(page, server, `/runs/trial/manual/${day}`);
  await ask("Cancel…", "Cancel the run", { Reason: "not needed" });
  await page.locator(".lifecycle [aria-current=step]", { hasText: "Cancelled" }).waitFor();
  await page.getByText("not needed").first().waitFor();
});

test("a pipeline is paused and resumed, also from the palette", async () => {
  await visit(page, server, "/pipelines/trial");
  await ask("Pause…", "Pause", { Reason: "maintenance", Until: "2h" });
  await page.getByText(/Paused by ops/).waitFor();
  await dialog().waitFor({ state: "detached" }); // until then, its field takes the key
  await page.keyboard.press("/");
  await page.getByRole("searchbox", { name: "Find" }).fill("resume");
  await page.getByRole("option", { name: "Resume…" }).waitFor();
  await page.keyboard.press("Enter");
  await dialog().getByRole("button", { name: "Resume" }).click();
  await page.getByText(/Paused by ops/).waitFor({ state: "detached" });
});

test("what is wrong with an action is said in its dialog", async () => {
  await visit(page, server, "/pipelines/trial");
  await ask("Push a reading…", "Push", { Key: "ready", Data: "yes" });
  await dialog().getByText("not a JSON object").waitFor();
  await page.keyboard.press("Escape");
  await dialog().waitFor({ state: "detached" });
});

test("a viewer is offered nothing that the server would refuse", async () => {
  const other = await openPage(browser);
  await login(other, tokens.WALL);
  for (const path of ["/pipelines/load", `/runs/load/manual/${day}`, "/alerts"]) {
    await visit(other, server, path);
    expect(await other.getByRole("button", { name: "…" }).count(), path).toBe(0);
  }
  await other.close();
});
