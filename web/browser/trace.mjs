// Traces the timeline of a server in Chromium and prints, as JSON, how much it loaded on the first
// visit, and how long its scripts ran: until the first cells are there, and in each frame while it
// scrolls. `make bench` runs it.
import { rmSync } from "node:fs";
import { chromium } from "playwright-core";

const [url] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"],
});
const page = await browser.newPage({ viewport: { width: 1600, height: 900 } });
page.setDefaultTimeout(200_000);
const trace = `${process.env.TMPDIR ?? "/tmp"}/interlock-trace-${process.pid}.json`;

/** Traces what f does, and gives the events. */
async function traced(f) {
  await browser.startTracing(page, { path: trace, categories: ["devtools.timeline", "v8", "blink.user_timing"] });
  await f();
  return JSON.parse((await browser.stopTracing()).toString()).traceEvents;
}

const scripts = new Set(["EvaluateScript", "v8.compile", "FunctionCall", "FireAnimationFrame", "TimerFire", "EventDispatch", "RunMicrotasks", "XHRReadyStateChange"]);

/** Stretches in which scripts ran, those inside others left out, in microseconds. */
function running(events) {
  const all = events.filter((e) => e.ph === "X" && scripts.has(e.name) && e.dur > 0).sort((a, b) => a.ts - b.ts || b.dur - a.dur);
  const ends = new Map(); // by thread
  return all.filter((e) => {
    const thread = `${e.pid}/${e.tid}`;
    if (e.ts < (ends.get(thread) ?? 0)) return false;
    ends.set(thread, e.ts + e.dur);
    return true;
  });
}

const from = new Date(Date.now() - 48 * 3_600_000).toISOString();
const load = await traced(async () => {
  await page.goto(`${url}/?span=2d&at=${from}`);
  await page.locator("a.cell").first().waitFor();
});
/** How long a script ran on its processor, whatever else the machine was doing; in milliseconds. */
const took = (e) => (e.tdur ?? e.dur) / 1000;
const interactive = running(load).reduce((sum, e) => sum + took(e), 0);

/** The page and its files, those included that load while it is idle. */
async function loaded() {
  const sizes = () => page.evaluate(() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource").filter((r) => !r.name.includes("/api/"))].map((r) => r.encodedBodySize));
  for (let before = 0; ;) {
    const all = await sizes();
    if (all.length === before) return { files: all.length, bytes: all.reduce((sum, n) => sum + n, 0) };
    before = all.length;
    await page.waitForTimeout(2000);
  }
}
const visit = await loaded();

const scroll = await traced(() => page.evaluate(async () => {
  const scroller = document.querySelector(".scroller");
  for (let y = 0; y < Math.min(scroller.scrollHeight, 300 * 120); y += 120) {
    performance.mark("frame");
    scroller.scrollTop = y;
    await new Promise(requestAnimationFrame);
  }
}));
const marks = scroll.filter((e) => e.name === "frame" && e.cat.includes("user_timing")).map((e) => e.ts).sort((a, b) => a - b);
const busy = running(scroll);
const within = (from, to) => busy.filter((e) => e.ts >= from && e.ts < to).reduce((sum, e) => sum + took(e), 0);
const frames = marks.slice(0, -1).map((at, i) => within(at, marks[i + 1])).sort((a, b) => a - b);
await browser.close();
rmSync(trace, { force: true });
const of = (q) => frames[Math.min(frames.length - 1, Math.floor(frames.length * q))] ?? 0;
console.log(JSON.stringify({ ...visit, interactive, frame: of(0.5), slowest: of(0.95), frames: frames.length }));
