import { defineConfig } from "vitest/config";

// Tests of the pages in a real browser, served by the real binary (INTERLOCK names it).
export default defineConfig({
  test: { include: ["browser/**/*.test.ts"], testTimeout: 120_000, hookTimeout: 120_000, fileParallelism: false },
});
