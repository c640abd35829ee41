import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Provider } from "./provider";
import { openBrowser, openPage, Server } from "./server";

let browser: Browser;
let provider: Provider;
let server: Server;

/** A port that is free now: the provider is told the server's address before the server starts. */
async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

beforeAll(async () => {
  browser = await openBrowser();
  provider = new Provider({ email: "jane@example.com", email_verified: true, groups: ["data"] });
  await provider.start();
  const url = `http://127.0.0.1:${await freePort()}`;
  server = new Server({}, `egress: {allow: [localhost]}
auth:
  oidc:
    issuer: ${provider.url}
    clientID: ${provider.clientID}
    redirectURL: ${url}/api/v1/session/oidc/callback
    label: Log in with Example
    roles: [{group: data, role: operator}]
`);
  server.url = url;
  await server.start();
});
afterAll(async () => {
  await browser?.close();
  await server?.remove();
  provider?.stop();
});

test("a user logs in at a provider on another site, and out again", async () => {
  const page = await openPage(browser);
  await page.goto(server.url);
  const button = page.getByRole("link", { name: "Log in with Example" });
  await button.waitFor();
  expect(await page.getByLabel("Token").count()).toBe(0); // the server has no tokens
  await button.click();
  await page.getByRole("heading", { name: "No pipelines yet" }).waitFor();
  expect(new URL(page.url()).pathname).toBe("/");
  const cookies = await page.context().cookies(server.url + "/api/v1/session/oidc");
  expect(cookies).toMatchObject([{ name: "interlock_session", httpOnly: true, sameSite: "Strict" }]);
  await page.getByTitle("oidc:jane@example.com, operator").click();
  await button.waitFor();
  await page.goto(server.url + "/api/v1/session/oidc/callback?code=1&state=made-up");
  await page.getByText("The login timed out, or was started in another browser.").waitFor();
});
