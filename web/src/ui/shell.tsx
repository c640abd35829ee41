import { lazy, type ReactNode, Suspense, useCallback, useEffect, useMemo, useState } from "react";
import { useConnection } from "../api/live";
import { useResource } from "../api/resource";
import type { components } from "../api/schema";
import type { Session } from "../api/session";
import { clock, duration } from "../model/time";
import { go, type Place } from "../route/route";
import { useNow, useZone } from "./clock";
import { type Asker, Asking } from "./ask";
import { Link } from "./link";
import { views } from "./views";
import { applyTheme, nextTheme, storedTheme } from "./theme";

const Palette = lazy(async () => ({ default: (await import("./palette")).Palette }));
const Help = lazy(async () => ({ default: (await import("./help")).Help }));
const ZoneChoice = lazy(async () => ({ default: (await import("./zonechoice")).ZoneChoice }));

/** The frame of every view: navigation, the freshness of the data, and the global keys. */
export function Shell({ place, session, logout, children }: { place: Place; session: Session; logout: () => Promise<void>; children: ReactNode }) {
  const [open, setOpen] = useState<"palette" | "help" | null>(null);
  const [dialog, setDialog] = useState<ReactNode>(null);
  const [told, setTold] = useState("");
  useKeys(setOpen, open !== null || dialog !== null);
  const counts = useCounts();
  const quiet = useCallback(() => setTold(""), []);
  const asker = useMemo<Asker>(() => ({ open: setDialog, close: () => setDialog(null), tell: setTold }), []);
  return (
    <Asking value={asker}>
      <div className="shell">
        <a className="skip" href="#main">Skip to content</a>
        <header className="top">
          <Link href="/" className="brand"><img src="/icon.svg" alt="" width="22" height="22" />Interlock</Link>
          <nav aria-label="Views">
            {views.map((v) => <Tab key={v.path} href={v.path} on={v.path === (place.view === "timeline" ? "/" : `/${place.view}`)} count={counts[v.path]}>{v.name}</Tab>)}
          </nav>
          <button type="button" className="find" onClick={() => setOpen("palette")}>
            <span>Find a pipeline or command</span><kbd>/</kbd>
          </button>
          <div className="tools">
            <Freshness />
            <Suspense fallback={<span className="zone" />}><ZoneChoice /></Suspense>
            <ThemeButton />
            <button type="button" className="icon" aria-label="Keyboard help" title="Keyboard help (?)" onClick={() => setOpen("help")}>?</button>
            {session.tokens && <button type="button" className="quiet" onClick={() => void logout()} title={`${session.name ?? "logged in"}, ${session.role}`}>Log out</button>}
          </div>
        </header>
        <Stale />
        <main id="main" tabIndex={-1}>{children}</main>
        <Told message={told} clear={quiet} />
        {dialog}
        <Suspense>
          {open === "palette" && <Palette place={place} close={() => setOpen(null)} help={() => setOpen("help")} />}
          {open === "help" && <Help close={() => setOpen(null)} />}
        </Suspense>
      </div>
    </Asking>
  );
}

function Tab({ href, on, count, children }: { href: string; on: boolean; count: number | undefined; children: string }) {
  return <Link href={href} className="tab" aria-current={on ? "page" : undefined}>{children}{count ? <span className="count" title={`${count} need attention`}>{count}</span> : null}</Link>;
}

/** How many things need attention, by the view that shows them. */
function useCounts(): Partial<Record<string, number>> {
  const list = useResource<components["schemas"]["AttentionList"]>("/attention?limit=200", { every: 10_000 }).data;
  return list ? { "/": list.total, "/alerts": list.counts.undelivered, "/config": (list.counts.rejected ?? 0) + (list.counts.degraded ?? 0) } : {};
}

/** Keys that work in every view, except while typing. */
function useKeys(open: (what: "palette" | "help") => void, busy: boolean) {
  useEffect(() => {
    let prefix = 0;
    const pressed = (e: KeyboardEvent) => {
      const t = e.target as HTMLElement;
      const typing = t.closest("input, textarea, select, [contenteditable], [role=spinbutton]");
      if (busy || (e.key === "k" && (e.metaKey || e.ctrlKey))) {
        if (!busy) {
          e.preventDefault();
          open("palette");
        }
        return;
      }
      if (typing || e.metaKey || e.ctrlKey || e.altKey) return;
      const second = e.timeStamp - prefix < 1000;
      prefix = e.key === "g" ? e.timeStamp : 0;
      const to = second && views.find((v) => v.key === e.key);
      if (to) go(to.path);
      else if (e.key === "/") open("palette");
      else if (e.key === "?") open("help");
      else return;
      e.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [open, busy]);
}

function Freshness() {
  const c = useConnection();
  const word = c.state === "live" ? "Live" : c.state === "lost" ? "Stale" : "Connecting";
  return <span className={`fresh f-${c.state}`} role="status" title={c.state === "live" ? "Changes are shown as they happen" : "The server does not answer"}><i aria-hidden="true" />{word}</span>;
}

function Stale() {
  const c = useConnection();
  const now = useNow(1000);
  const zone = useZone();
  if (c.state !== "lost" || now - c.since < 1500) return null;
  return (
    <p className="stale" role="alert">
      <strong>Connection lost at {clock(c.since, zone)}</strong>, {duration(now - c.since)} ago. The page shows the state at that time. Reconnecting…
    </p>
  );
}

const faces = { auto: "◐", light: "☀", dark: "☾" } as const;

function ThemeButton() {
  const [theme, setTheme] = useState(storedTheme);
  const next = nextTheme(theme);
  return (
    <button
      type="button"
      className="icon"
      aria-label={`Theme: ${theme}; change to ${next}`}
      title={`Theme: ${theme}`}
      onClick={() => {
        applyTheme(next);
        setTheme(next);
      }}
    >
      {faces[theme]}
    </button>
  );
}

/** Briefly shows the result of an action. */
function Told({ message, clear }: { message: string; clear: () => void }) {
  useEffect(() => {
    if (!message) return;
    const timer = setTimeout(clear, 8000);
    return () => clearTimeout(timer);
  }, [message, clear]);
  return <div className="told" role="status">{message && <p>{message}<button type="button" className="quiet" onClick={clear} aria-label="Dismiss">×</button></p>}</div>;
}
