import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openBrowser, openPage, Server, watch } from "./server";

let browser: Browser;
let server: Server;

beforeAll(async () => {
  browser = await openBrowser();
  server = new Server({}, "auth: {tokens: [{name: wall, role: viewer, tokenEnv: WALL}]}\n");
  await server.start({ WALL: "viewer-0123456789" });
});
afterAll(async () => {
  await browser?.close();
  await server?.remove();
});

test("a token opens the dashboard, a wrong one does not, and no script can read it", async () => {
  const page = await openPage(browser);
  await page.goto(server.url);
  await page.getByLabel("Token").fill("something else entirely");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("unknown token").waitFor();
  await page.getByLabel("Token").fill("viewer-0123456789");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("heading", { name: "No pipelines yet" }).waitFor();
  expect(await page.evaluate(() => document.cookie)).toBe("");
  const [cookie] = await page.context().cookies(server.url + "/api/v1");
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
  const complaints = watch(page, server);
  await page.reload();
  await page.getByText("interlock init my-pipelines").waitFor();
  expect(complaints).toEqual([]);
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByLabel("Token").fill("viewer-0123456789");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("Live", { exact: true }).waitFor();
  await page.context().clearCookies();
  await page.getByRole("link", { name: "Events", exact: true }).click();
  await page.getByText("Your session has ended").waitFor();
  await page.getByLabel("Token").waitFor();
});
