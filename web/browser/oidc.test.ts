import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Provider } from "./provider";
import { freeAddress, openBrowser, openPage, Server } from "./server";

let browser: Browser;
let provider: Provider;
let server: Server;

beforeAll(async () => {
  browser = await openBrowser();
  provider = new Provider({ email: "jane@example.com", email_verified: true, groups: ["data"] });
  await provider.start();
  const url = await freeAddress(); // the provider is told it before the server starts
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
