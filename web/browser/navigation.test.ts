import { expect, test } from "vitest";
import { files } from "./past";
import { page, server, Server, useServer, visit } from "./server";

useServer(
  1280, 600,
  () => {
    const made = new Server({ ...files, "preorders.yaml": "pipeline: {id: all-preorders, owner: sales}\n" });
    made.remember();
    return made;
  },
);

const param = (name: string) => new URL(page.url()).searchParams.get(name);

test("typing a date jumps once, when it is complete", async () => {
  await visit(page, server, "/?span=4d");
  const year = page.getByRole("spinbutton", { name: /^year/ });
  await year.click();
  for (const key of "2026") {
    await page.keyboard.press(key);
    expect(param("at")).toBeNull();
  }
  await page.keyboard.type("0714");
  expect(param("at")).toBeNull();
  await page.keyboard.press("Enter");
  await page.getByText("2026-07-14 – 2026-07-17").waitFor();
  expect(param("at")).toBe("2026-07-14T00:00:00Z");
});

test("a zone that the browser does not list is shown as chosen, and the choice is remembered", async () => {
  await visit(page, server, "/?zone=Asia%2FKolkata");
  const zone = page.getByRole("combobox", { name: "Time zone" });
  await expect.poll(() => zone.inputValue()).toBe("Asia/Kolkata");
  await zone.fill("Europe/Ber");
  await page.getByRole("option", { name: "Europe/Berlin" }).click();
  await visit(page, server, "/events");
  await expect.poll(() => zone.inputValue()).toBe("Europe/Berlin");
});

test("chips count what the filter leaves", async () => {
  await visit(page, server, "/?span=14d");
  const completed = page.getByRole("button", { name: /completed/ });
  await page.getByRole("button", { name: /^[1-9]\d+ completed/ }).waitFor();
  const all = parseInt(await completed.innerText());
  await page.getByLabel("Filter pipelines").fill("ledger");
  await page.getByRole("link", { name: "billing", exact: true }).waitFor({ state: "detached" });
  const some = parseInt(await completed.innerText());
  expect(some).toBeGreaterThan(0);
  expect(some).toBeLessThan(all);
});

test("the palette puts the best match first", async () => {
  await visit(page, server, "/");
  await page.keyboard.press("/");
  await page.getByRole("searchbox", { name: "Find" }).fill("orders");
  const options = page.getByRole("dialog").getByRole("option");
  await page.getByRole("option", { name: "all-preorders" }).waitFor();
  expect((await options.first().innerText()).split("\n")[0]).toBe("orders");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "orders" }).waitFor();
});

test("Back undoes a tab, and returns to the scroll position and the focus", async () => {
  await visit(page, server, "/deadlines");
  await page.getByRole("button", { name: "Compliance" }).click();
  await page.getByRole("button", { name: "By owner" }).click();
  await page.goBack();
  expect(param("by")).toBeNull();
  await page.goBack();
  expect(param("view")).toBeNull();
  expect(new URL(page.url()).pathname).toBe("/deadlines");

  await visit(page, server, "/pipelines/orders");
  const link = page.getByRole("region", { name: "Recent periods" }).getByRole("link").nth(25);
  await link.scrollIntoViewIfNeeded();
  const [before, href] = [await page.evaluate(() => scrollY), await link.getAttribute("href")];
  expect(before).toBeGreaterThan(0);
  await link.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1 }).filter({ hasText: "·" }).waitFor();
  await page.goBack();
  await page.waitForFunction((y) => Math.abs(scrollY - y) < 2, before);
  await page.waitForFunction((h) => document.activeElement?.getAttribute("href") === h, href);
});
