import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import type { TestProject } from "vitest/node";
import { files } from "./past";
import { browserPath, flags, patience, seedPath } from "./server";

declare module "vitest" {
  export interface ProvidedContext {
    browser: string; // where the browser listens
    past: string; // a directory with the seeded past, and what is in it
  }
}

/** Starts the browser that all tests share, and writes the past that servers are given copies of. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const past = mkdtempSync(join(tmpdir(), "interlock-past-"));
  mkdirSync(join(past, "pipelines"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(past, "pipelines", name), text);
  const wrote = execFileSync(seedPath, ["-data", join(past, "data"), "-days", "100", "-dead", "110"], { cwd: past, maxBuffer: 1 << 26 });
  writeFileSync(join(past, "periods.json"), wrote);
  const browser = await chromium.launchServer({ executablePath: browserPath, args: flags, timeout: patience });
  provide("past", past);
  provide("browser", browser.wsEndpoint());
  return async () => {
    await browser.close();
    rmSync(past, { recursive: true, force: true });
  };
}
