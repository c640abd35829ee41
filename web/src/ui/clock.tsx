import { createContext, useContext, useEffect, useState } from "react";
import { duration, moment, relative, utc } from "../model/time";

export const Zone = createContext("local");

export const useZone = () => useContext(Zone);

/** The current time, updated at the given interval. */
export function useNow(every: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

/** An instant in the chosen zone, with UTC when pointed at. */
export function Time({ at }: { at: string | null | undefined }) {
  const zone = useZone();
  if (!at) return <span className="none">–</span>;
  const t = Date.parse(at);
  return <time dateTime={at} title={utc(t)}>{moment(t, Date.now(), zone)}</time>;
}

/** How long ago an instant was, counting. */
export function Age({ at, now }: { at: string | null | undefined; now: number }) {
  if (!at) return <span className="none">–</span>;
  const t = Date.parse(at);
  return <time dateTime={at} title={utc(t)}>{relative(t, now)}</time>;
}

/** How long something took, or has taken so far. */
export function Took({ from, to, now }: { from: string | null; to: string | null; now: number }) {
  if (!from) return <span className="none">–</span>;
  const ms = (to ? Date.parse(to) : now) - Date.parse(from);
  return <span className={to ? "num" : "num open"}>{duration(Math.max(0, ms))}{to ? "" : " so far"}</span>;
}
