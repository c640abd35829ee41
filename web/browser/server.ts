import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject } from "vitest";

// The real binary and a real browser. INTERLOCK, SEED and CHROMIUM name them where they are
// elsewhere.
export const binary = process.env.INTERLOCK ?? join(import.meta.dirname, "../../bin/interlock");
export const seedPath = process.env.SEED ?? join(import.meta.dirname, "../../bin/seed");
export const browserPath = process.env.CHROMIUM ?? "/usr/bin/chromium";

export const patience = Number(process.env.PATIENCE ?? 200_000); // milliseconds

export const flags = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];

/** Connects to the browser that all tests share. */
export function openBrowser(): Promise<Browser> {
  return chromium.connect(inject("browser"), { timeout: patience });
}

/** Opens a page that is given all the time it needs: how fast it is, is for bench to say. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
  const page = await browser.newPage(options);
  page.setDefaultTimeout(patience);
  return page;
}

/** Where a process says that it listens. */
export function address(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    const hear = (chunk: Buffer) => {
      said += chunk.toString();
      const found = /127\.0\.0\.1:(\d+)\D/.exec(said);
      if (found) resolve(`http://127.0.0.1:${found[1]}`);
    };
    child.stdout!.on("data", hear);
    child.stderr!.on("data", hear);
    child.on("error", reject);
    child.on("exit", () => reject(new Error(`the server ended: ${said}`)));
  });
}

/**
 * An address that nothing listens on. Its port is below the range from which systems assign ports,
 * so that no other program is likely to take it while the server is down.
 */
export async function freeAddress(): Promise<string> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    const probe = createServer();
    const free = await new Promise((resolve) => {
      probe.once("error", () => resolve(false));
      probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
    });
    if (free) return `http://127.0.0.1:${port}`;
  }
}

/** Period is one period of a seeded past. */
export interface Period {
  pipeline: string;
  date: string;
  start: string;
  end: string;
  phase: string;
}

/** Server is one controller with a directory of its own. */
export class Server {
  readonly dir = mkdtempSync(join(tmpdir(), "interlock-browser-"));
  url = "";
  private child: ChildProcess | undefined;

  constructor(files: Record<string, string>, private config = "") {
    mkdirSync(join(this.dir, "pipelines"));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(this.dir, "pipelines", name), text);
  }

  /** Gives it the past that all tests share, before it is started for the first time, and returns the periods of it. */
  remember(): Period[] {
    const past = inject("past");
    cpSync(join(past, "data"), join(this.dir, "interlock-data"), { recursive: true });
    return JSON.parse(readFileSync(join(past, "periods.json"), "utf8")) as Period[];
  }

  /** Gives it a past of its own. */
  seed(...args: string[]): void {
    execFileSync(seedPath, ["-data", join(this.dir, "interlock-data"), ...args], { cwd: this.dir, maxBuffer: 1 << 26 });
  }

  /** Writes a pipeline file anew. The server sees all of it or nothing. */
  edit(name: string, text: string): void {
    const file = join(this.dir, "pipelines", name);
    writeFileSync(`${file}.part`, text);
    renameSync(`${file}.part`, file);
  }

  /** Starts it on a free port, or on that of its url if it has one. */
  async start(env: Record<string, string> = {}): Promise<void> {
    writeFileSync(join(this.dir, "interlock.yaml"), `listen: ${this.url.replace("http://", "") || "127.0.0.1:0"}\n${this.config}`);
    const child = spawn(binary, ["serve", "--log-format", "json"], { cwd: this.dir, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
    this.child = child;
    this.url = await address(child);
  }

  /** Stops the process where it is: its connections stay open, and nothing is answered until it is thawed. */
  freeze(): void {
    this.child!.kill("SIGSTOP");
  }

  thaw(): void {
    this.child!.kill("SIGCONT");
  }

  async stop(): Promise<void> {
    const child = this.child;
    if (!child || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    this.thaw();
    await ended;
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.dir, { recursive: true, force: true });
  }

  async send(method: string, path: string, body: unknown, token = ""): Promise<unknown> {
    const headers: Record<string, string> = { "Content-Type": "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}) };
    const answer = await fetch(`${this.url}/api/v1${path}`, { method, headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }
}

// What the tests of a file share after useServer.
export let browser: Browser;
export let server: Server;
export let page: Page;
export let complaints: string[];

/**
 * Starts a server for the tests of a file and prepares it, and opens a page for each test, which
 * must not have complained at its end.
 */
export function useServer(width: number, height: number, make: () => Server, prepare = async () => {}): void {
  beforeAll(async () => {
    browser = await openBrowser();
    server = make();
    await server.start();
    await prepare();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.remove();
  });
  beforeEach(async () => {
    page = await openPage(browser, { viewport: { width, height }, timezoneId: "UTC" });
    complaints = watch(page, server);
  });
  afterEach(async () => {
    await page.close();
    expect(complaints).toEqual([]);
  });
}

/** What a page must never do: complain, fail, or talk to anybody else. */
export function watch(page: Page, server: Server): string[] {
  const complaints: string[] = [];
  page.on("console", (m) => {
    if (m.type() === "error" || m.type() === "warning") complaints.push(m.text());
  });
  page.on("pageerror", (e) => complaints.push(e.message));
  page.on("request", (r) => {
    if (!r.url().startsWith(server.url)) complaints.push(`asked ${r.url()}`);
  });
  return complaints;
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Found {
  id: string;
  impact: string;
  nodes: { html: string }[];
}

/** What keeps people from using the page as it stands: nothing, if all is well. */
export async function hindrances(page: Page, ...rules: string[]): Promise<string[]> {
  await page.evaluate(axe);
  return page.evaluate(async (only) => {
    const { violations } = await (window as unknown as { axe: { run: (o: object) => Promise<{ violations: Found[] }> } }).axe.run(only.length ? { runOnly: only } : {});
    return violations.filter((v) => v.impact === "serious" || v.impact === "critical").map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 160)).join(" | ")}`);
  }, rules);
}

/** Goes to a view and waits until it has read what it shows. */
export async function visit(page: Page, server: Server, path: string): Promise<void> {
  await page.goto(server.url + path);
  await page.getByText("Live", { exact: true }).or(page.locator(".fresh.f-live")).first().waitFor();
  await page.locator(".spinner").first().waitFor({ state: "detached" });
}
