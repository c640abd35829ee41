import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openBrowser, openPage, Server, watch } from "./server";

const lane = (i: number) => `
pipeline: {id: lane${i}, owner: team${i % 9}}
schedule: {cron: "5 * * * *", offset: -1}
sla: {deadline: ":30"}
job: {type: command, config: {command: ["true"], timeout: 1m}}
`;

let browser: Browser;
let server: Server;

beforeAll(async () => {
  browser = await openBrowser();
  server = new Server(Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`lane${i + 1}.yaml`, lane(i + 1)])));
  server.seed("-lanes", "500");
  await server.start();
});
afterAll(async () => {
  await browser?.close();
  await server?.remove();
});

test("of five hundred lanes with 48 periods each, only what can be seen is drawn", async () => {
  const page = await openPage(browser, { viewport: { width: 1600, height: 900 } });
  const complaints = watch(page, server);
  const requests: URL[] = [];
  page.on("request", (r) => {
    const url = new URL(r.url());
    if (url.pathname.endsWith("/timeline")) requests.push(url);
  });
  const from = new Date(Date.now() - 48 * 3_600_000).toISOString();
  await page.goto(`${server.url}/?span=2d&at=${from}`);
  await page.getByRole("link", { name: /^lane1 .*: completed, deadline met/ }).first().waitFor();
  const loads = requests.filter((url) => !url.searchParams.has("cursor")).length; // it is read again every few seconds
  expect(requests.length).toBeLessThanOrEqual(13 * loads); // pages
  expect(await page.locator(".lane").count()).toBeLessThan(60);
  expect(await page.locator(".lane").first().locator("a.cell").count()).toBeGreaterThanOrEqual(47);
  const names = await page.locator(".lane .name a").allInnerTexts();
  expect(names.slice(0, 11)).toEqual(Array.from({ length: 11 }, (_, i) => `lane${i + 1}`));
  const frames = await page.evaluate(async () => {
    const scroller = document.querySelector(".scroller")!;
    const out: number[] = [];
    for (let y = 0, last = performance.now(); y < scroller.scrollHeight; y += 480) {
      scroller.scrollTop = y;
      await new Promise(requestAnimationFrame);
      out.push(performance.now() - last);
      last = performance.now();
    }
    return out.sort((a, b) => a - b);
  });
  console.info(`scrolling: ${frames.length} frames, median ${frames[frames.length >> 1]!.toFixed(0)} ms, slowest of 20 ${frames[Math.floor(frames.length * 0.95)]!.toFixed(0)} ms`);
  await page.getByRole("link", { name: "lane500", exact: true }).waitFor();
  expect(complaints).toEqual([]);
});
