import { createServer, type Server as Hook } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openBrowser, openPage, Server, visit, watch } from "./server";

let browser: Browser;
let server: Server;
let hook: Hook;
let answer = 400;

beforeAll(async () => {
  browser = await openBrowser();
  hook = createServer((q, r) => {
    q.resume();
    q.on("end", () => r.writeHead(answer).end());
  });
  await new Promise<void>((resolve) => hook.listen(0, "127.0.0.1", resolve));
  const { port } = hook.address() as AddressInfo;
  server = new Server(
    { "broken.yaml": "pipeline: {id: broken}\n", "fine.yaml": "pipeline: {id: fine, owner: ops}\n" },
    `egress: {allow: [127.0.0.0/8]}\nalerts: {webhooks: [{name: ops, url: "http://127.0.0.1:${port}/", secretEnv: HOOK}], default: {sinks: [ops]}}\n`,
  );
  await server.start({ HOOK: "0123456789abcdef0123456789abcdef" });
});
afterAll(async () => {
  await browser?.close();
  await server?.remove();
  hook?.close();
});

test("silences are added and ended, dead letters sent again, and routes tried", async () => {
  const page = await openPage(browser, { timezoneId: "UTC" });
  const complaints = watch(page, server);
  const dialog = page.getByRole("dialog");
  await visit(page, server, "/alerts");

  const dead = page.getByRole("region", { name: "Dead letters" });
  await dead.getByText("CONFIG_REJECTED to ops about broken").waitFor();
  await dead.getByText(/^ops answered: .*400/).waitFor();
  answer = 204;
  await dead.getByRole("button", { name: "Send again…" }).click();
  await dialog.getByRole("button", { name: "Send" }).click();
  await dead.getByText("No sink has rejected an alert.").waitFor();

  const routes = page.getByRole("region", { name: "Routes" });
  await routes.getByRole("button", { name: "Send a sample…" }).click();
  await dialog.getByRole("button", { name: "Send" }).click();
  await page.getByText("Sent to ops.").waitFor();

  const silences = page.getByRole("region", { name: "Silences" });
  await silences.getByRole("button", { name: "Add a silence…" }).click();
  await dialog.getByLabel("Pipelines").fill("bro*");
  await dialog.getByLabel("Reason").fill("we know");
  await dialog.getByRole("button", { name: "Silence" }).click();
  await silences.getByRole("cell", { name: "bro*" }).waitFor();
  await silences.getByRole("button", { name: "End…" }).click();
  await dialog.getByLabel("Reason").fill("mended");
  await dialog.getByRole("button", { name: "End silence" }).click();
  await silences.getByText("No alert is silenced.").waitFor();
  await silences.getByRole("button", { name: "Include ended" }).click();
  await silences.getByText(/we know .*mended/).waitFor();
  expect(complaints).toEqual([]);
  await page.close();
});
