import { defineConfig } from "vitest/config";

// Tests of the pages in a real browser, served by the real binary (INTERLOCK names it); with
// PICTURES the pictures for docs/images.
const include = process.env.PICTURES ? ["browser/pictures.ts"] : ["browser/**/*.test.ts"];
export default defineConfig({
  test: { include, testTimeout: 600_000, hookTimeout: 300_000, globalSetup: ["browser/setup.ts"], maxWorkers: 2 },
});
