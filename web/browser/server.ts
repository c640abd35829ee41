import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";

// The real binary and a real browser. INTERLOCK and CHROMIUM name them where they are elsewhere.
const binary = process.env.INTERLOCK ?? join(import.meta.dirname, "../../bin/interlock");
const browserPath = process.env.CHROMIUM ?? "/usr/bin/chromium";

const flags = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: browserPath, args: flags });
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

  /** Starts it, on the port it had before if it was started already. */
  async start(env: Record<string, string> = {}): Promise<void> {
    writeFileSync(join(this.dir, "interlock.yaml"), `listen: ${this.url.replace("http://", "") || "127.0.0.1:0"}\n${this.config}`);
    const child = spawn(binary, ["serve", "--log-format", "json"], { cwd: this.dir, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
    this.child = child;
    await new Promise<void>((resolve, reject) => {
      let said = "";
      const hear = (chunk: Buffer) => {
        said += chunk.toString();
        const found = /127\.0\.0\.1:(\d+)/.exec(said);
        if (!found) return;
        this.url = `http://127.0.0.1:${found[1]}`;
        resolve();
      };
      child.stdout.on("data", hear);
      child.stderr.on("data", hear);
      child.on("error", reject);
      child.on("exit", () => reject(new Error(`the server ended: ${said}`)));
    });
  }

  async stop(): Promise<void> {
    const child = this.child;
    if (!child || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await ended;
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.dir, { recursive: true, force: true });
  }

  async send(method: string, path: string, body: unknown): Promise<unknown> {
    const answer = await fetch(`${this.url}/api/v1${path}`, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }
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
