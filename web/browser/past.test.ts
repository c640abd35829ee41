import { expect, test } from "vitest";
import { files } from "./past";
import { browser, openPage, page, type Period, server, Server, useServer, visit } from "./server";

// Ninety days of pipelines with periods of every length: nothing of them is left out, at any zoom.

let past: Period[];

const hour = 3_600_000;
const day = 24 * hour;
const iso = (t: number) => new Date(t).toISOString();
const midnight = Math.floor(Date.now() / day) * day;

useServer(
  1440, 900,
  () => {
    const made = new Server({
      ...files,
      "today.yaml": "pipeline: {id: today, owner: ops}\nvalidation: {rules: [{key: ready, check: exists}]}\n",
      "minutes.yaml": "pipeline: {id: minutes, owner: ops}\nschedule: {period: minute, trigger: {key: go, check: exists}}\njob: {type: command, config: {command: [\"true\"], timeout: 1m}}\n",
    });
    past = made.remember();
    return made;
  },
  async () => {
    await server.send("POST", "/runs", { pipeline: "today", date: iso(midnight - 3 * day).slice(0, 10) });
  },
);

const cell = (name: RegExp) => page.getByRole("link", { name });
const chip = async (name: RegExp) => parseInt(await page.getByRole("button", { name }).first().innerText());
const last = (pipeline: string) => past.findLast((p) => p.pipeline === pipeline)!;

/** The periods of a phase that touch a stretch of time. */
const within = (phase: string, from: number, to: number) => past.filter((p) => p.phase === phase && Date.parse(p.start) < to && Date.parse(p.end) > from);

test("last night's failed run is drawn and counted in the default view and at every zoom", async () => {
  const failed = new RegExp(`^nightly ${last("nightly").date}: failed`);
  await visit(page, server, "/");
  await cell(failed).waitFor();
  expect(await chip(/ failed$/)).toBe(1);
  for (const span of ["15m", "1h", "12h", "1d", "4d"]) {
    await visit(page, server, `/?span=${span}`);
    await cell(failed).waitFor();
    expect(await chip(/ failed$/), span).toBe(1);
  }
});

test("an open run is drawn whatever part of time is shown", async () => {
  const days = (span: number, ago: number) => `span=${span}d&at=${iso(midnight - ago * day)}`;
  for (const path of ["span=12h", days(30, 80), days(90, 98), "span=12h&axis=execution"]) {
    await visit(page, server, `/?q=today&${path}`); // a schedule may open other runs meanwhile
    await cell(/^today .*: waiting/).waitFor();
    expect(await chip(/ waiting$/), path).toBe(1);
  }
});

test("the last hour of a day is in an hourly lane", async () => {
  await visit(page, server, `/?span=1d&at=${iso(midnight - 2 * day)}&q=orders`);
  const date = iso(midnight - 2 * day).slice(0, 10);
  for (const h of ["00", "12", "22", "23"]) await cell(new RegExp(`^orders ${date}T${h}: completed`)).waitFor();
  expect(await chip(/ completed$/)).toBe(24);
});

for (const days of [30, 90]) {
  test(`${days} days are complete, with exact counts for periods of every length`, async () => {
    const from = midnight - (days + 5) * day; // whole days that do not change while the test runs
    for (const pipeline of ["orders", "billing", "nightly", "ticks", "weekly", ""]) {
      await visit(page, server, `/?span=${days}d&at=${iso(from)}&q=${pipeline}`);
      await page.locator(".lane").first().waitFor();
      const mine = within("completed", from, from + days * day).filter((p) => !pipeline || p.pipeline === pipeline);
      expect(mine.length).toBeGreaterThan(0);
      await expect.poll(() => chip(/ completed$/), { message: `completed of ${pipeline || "all"}` }).toBe(mine.length);
    }
    const sum = (texts: string[]) => texts.reduce((n, t) => n + Number(/(\d+) periods/.exec(t)?.[1] ?? 1), 0);
    if (days > 30) return; // a dry run is known by its events, and those before these 90 days have been removed
    await visit(page, server, `/?span=${days}d&at=${iso(from)}&q=trial`);
    await cell(/^trial .*would have started/).first().waitFor();
    const drawn = await cell(/^trial .*would have started/).evaluateAll((all) => all.map((a) => a.getAttribute("aria-label") ?? ""));
    expect(sum(drawn)).toBe(within("would-start", from, from + days * day).length);
    expect(await chip(/ completed$/)).toBe(0); // a dry run completes nothing
  });
}

test("a week is as wide as a week, and a missing night is where it is missing", async () => {
  await visit(page, server, `/?span=90d&at=${iso(midnight - 95 * day)}`);
  const [week, date] = [cell(/^weekly .*: completed/).nth(3), cell(/^billing .*: completed/).nth(3)];
  await week.waitFor();
  const [long, short] = [(await week.boundingBox())!.width, (await date.boundingBox())!.width];
  expect(long).toBeGreaterThan(5 * short);
  await visit(page, server, "/?span=14d&q=nightly");
  const missing = past.find((p) => p.phase === "missing")!;
  await cell(new RegExp(`^nightly ${missing.date}: missing`)).waitFor();
  expect(await chip(/ missing$/)).toBe(1);
  const row = page.getByRole("region", { name: "Needs attention" }).getByRole("listitem").filter({ hasText: missing.date }); // although later nights have ended
  await row.getByText("missing", { exact: true }).waitFor();
  await row.getByRole("button", { name: "Trigger…" }).waitFor();
});

test("a missing period says what to press, and nothing about it is green", async () => {
  const { date } = past.find((p) => p.phase === "missing")!;
  await visit(page, server, `/runs/nightly/cron/${date}`);
  await page.getByRole("heading", { name: new RegExp(`nightly · ${date}`) }).waitFor();
  await page.getByRole("button", { name: "Trigger…" }).first().waitFor();
  const why = page.getByRole("region", { name: "Why" });
  await why.waitFor();
  expect(await page.locator(".verdict.open").count()).toBe(0);
  expect(await why.getByText("open", { exact: true }).count()).toBe(0);
});

test("a dry run says that it would have started, and is not called completed", async () => {
  await visit(page, server, `/runs/trial/stream/${last("trial").date}`);
  await page.getByText("dry run: would have started").first().waitFor();
  expect(await page.locator(".badge.k-completed").count()).toBe(0);
  expect(await page.getByText("succeeded").count()).toBe(0);
});

test("the gate of a pipeline is that of its open run, and an unfinished minute is not closed", async () => {
  await visit(page, server, "/pipelines/today");
  await expect.poll(() => page.getByRole("textbox", { name: "Period" }).inputValue()).toBe(iso(midnight - 3 * day).slice(0, 10));
  await visit(page, server, "/pipelines/minutes");
  await page.getByRole("region", { name: "Gate" }).waitFor();
  expect(await page.locator(".verdict.closed").count()).toBe(0);
});

test("a paused pipeline does not say when it opens next", async () => {
  await server.send("POST", "/pipelines/weekly/pause", { reason: "audit" });
  await visit(page, server, "/pipelines/weekly");
  const next = page.getByRole("region", { name: "Next" });
  await next.getByText("not until it is resumed: paused").waitFor();
  expect(await next.getByText(/\(in /).count()).toBe(0);
  await server.send("POST", "/pipelines/weekly/resume", { reason: "done" });
});

test("runs that are still open do not count against the completed ones", async () => {
  await visit(page, server, "/trends?q=today");
  const row = page.getByRole("row", { name: /today/ });
  await row.waitFor();
  expect(await row.innerText()).not.toContain("0 %");
});

test("all times and reasons are in the chosen zone", async () => {
  await visit(page, server, "/?zone=UTC&span=2d");
  const fire = new Date(Date.parse(last("nightly").end) + hour); // cron "0 1 * * *"
  const ended = (zone: string) => fire.toLocaleTimeString("sv", { timeZone: zone, hour: "2-digit", minute: "2-digit" });
  for (const zone of ["UTC", "Asia/Kolkata"]) {
    await visit(page, server, `/runs/nightly/cron/${last("nightly").date}?zone=${encodeURIComponent(zone)}`);
    await page.getByRole("region", { name: "Lifecycle" }).getByText(ended(zone)).first().waitFor();
  }
  expect(ended("UTC")).not.toBe(ended("Asia/Kolkata"));
});

test("a gate that is not due says when it is in the chosen zone", async () => {
  const date = new Date(Date.now() + 72 * hour).toISOString().slice(0, 10);
  await visit(page, server, `/pipelines/nightly?date=${date}&zone=Asia%2FTokyo`);
  const said = page.getByRole("region", { name: "Gate" }).locator("p", { hasText: "the schedule opens the run at" });
  await said.waitFor();
  expect(await said.locator("time").innerText()).toContain("10:00"); // 01:00 in UTC
});

test("with nothing wrong, the list of what needs attention is a calm sentence", async () => {
  const calm = new Server({ "fine.yaml": "pipeline: {id: fine, owner: ops}\n" });
  await calm.start();
  const other = await openPage(browser);
  await visit(other, calm, "/");
  await other.getByRole("region", { name: "Needs attention" }).getByText("Nothing needs attention").waitFor();
  await other.close();
  await calm.remove();
});

