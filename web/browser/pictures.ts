import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, test } from "vitest";
import { files } from "./past";
import { address, binary, openBrowser, Server, visit } from "./server";

// The pictures of docs/images: of the demo, once its story has ended, and of pipelines that have a
// past.

const images = join(import.meta.dirname, "../../docs/images");

let browser: Browser;
let demo: ChildProcess;
let at = "";
let demoEnded: Promise<void>;
let past: Server;

beforeAll(async () => {
  browser = await openBrowser();
  demo = spawn(binary, ["demo", "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "pipe"] });
  demoEnded = new Promise((resolve) => demo.stdout!.on("data", (chunk: Buffer) => chunk.toString().includes("The demo is complete") && resolve()));
  at = await address(demo);
  const { "broken.yaml": _, ...fine } = files;
  past = new Server(fine);
  past.seed("-days", "95");
  await past.start();
});
afterAll(async () => {
  await browser?.close();
  await past?.remove();
  const ended = new Promise((resolve) => demo?.once("exit", resolve));
  demo?.kill("SIGTERM");
  await ended;
});

interface Run {
  date: string;
  schedule: string;
  attempt: number;
}

async function runsOf(pipeline: string): Promise<Run[]> {
  const answer = await fetch(`${at}/api/v1/runs?pipeline=${pipeline}&limit=50`);
  return ((await answer.json()) as { items: Run[] }).items;
}

async function open(scheme: "light" | "dark", height = 800): Promise<Page> {
  return browser.newPage({ viewport: { width: 1280, height }, colorScheme: scheme, timezoneId: "UTC" });
}

async function take(page: Page, server: Pick<Server, "url">, path: string, name: string): Promise<void> {
  await visit(page, server as Server, path);
  await page.mouse.move(0, 0);
  await page.screenshot({ path: join(images, `${name}.png`) });
}

test("the demo", { timeout: 900_000 }, async () => {
  await demoEnded;
  const server = { url: at };
  while ((await runsOf("crypto-gold")).length < 6) await new Promise((resolve) => setTimeout(resolve, 2000));
  const light = await open("light", 450);
  await take(light, server, "/?span=15m&group=owner", "timeline");
  const dark = await open("dark", 450);
  await take(dark, server, "/?span=15m&group=owner", "timeline-dark");
  const page = await open("light");
  const [last] = await runsOf("earthquake-silver");
  await take(page, server, `/pipelines/earthquake-silver?date=${encodeURIComponent(last!.date)}`, "pipeline");
  const runs = await runsOf("crypto-silver");
  const twice = runs.find((r) => r.attempt > 1) ?? runs[0]!;
  await take(page, server, `/runs/crypto-silver/${twice.schedule}/${encodeURIComponent(twice.date)}`, "run");
});

test("weeks that went by", async () => {
  const page = await open("light");
  await take(page, past, "/deadlines?view=kept", "compliance");
  await take(page, past, "/trends?pipeline=billing", "trends");
});
