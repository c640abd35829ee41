import optimizeLocales from "@react-aria/optimize-locales-plugin";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The API that `npm run dev` talks to.
const server = process.env.INTERLOCK_SERVER ?? "http://127.0.0.1:8740";

export default defineConfig({
  plugins: [react(), { ...optimizeLocales.vite({ locales: ["en-GB", "en-US"] }), enforce: "pre" }],
  build: {
    target: "es2022",
    assetsInlineLimit: 0, // the page's policy allows nothing inline
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { host: "127.0.0.1", proxy: { "/api": { target: server, changeOrigin: true } } },
  test: { include: ["src/**/*.test.ts"] },
});
