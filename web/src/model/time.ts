// Times are shown in a zone that the viewer chose. "local" is the browser's own.

export const second = 1000;
export const minute = 60 * second;
export const hour = 60 * minute;
export const day = 24 * hour;

export function zoneName(zone: string): string {
  return zone === "local" ? Intl.DateTimeFormat().resolvedOptions().timeZone : zone;
}

/** Whether the browser knows a zone of that name. */
export function knownZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat("en-GB", { timeZone: zoneName(zone) });
    return true;
  } catch {
    return false;
  }
}

interface Parts {
  year: string;
  month: string;
  day: string;
  hour: string;
  minute: string;
  second: string;
  weekday: string;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function parts(at: number, zone: string): Parts {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-GB", {
      timeZone: zoneName(zone), hourCycle: "h23", weekday: "short",
      year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit",
    });
    formats.set(zone, format);
  }
  const out: Record<string, string> = {};
  for (const p of format.formatToParts(at)) out[p.type] = p.value;
  return out as unknown as Parts;
}

/** How far the zone's clocks are ahead of UTC at an instant. */
export function offset(at: number, zone: string): number {
  const p = parts(at, zone);
  const wall = Date.UTC(+p.year, +p.month - 1, +p.day, +p.hour, +p.minute, +p.second);
  return wall - Math.floor(at / second) * second;
}

/** The instant at which the zone's clocks first show a wall time, given as if it were UTC. */
export function fromWall(wall: number, zone: string): number {
  const guess = wall - offset(wall, zone);
  return wall - offset(guess, zone);
}

export function clock(at: number, zone: string): string {
  const p = parts(at, zone);
  return `${p.hour}:${p.minute}:${p.second}`;
}

export function shortClock(at: number, zone: string): string {
  const p = parts(at, zone);
  return `${p.hour}:${p.minute}`;
}

export function date(at: number, zone: string): string {
  const p = parts(at, zone);
  return `${p.year}-${p.month}-${p.day}`;
}

/** A day on an axis, in the order of every other date on the page. */
export function weekday(at: number, zone: string): string {
  const p = parts(at, zone);
  return `${p.weekday} ${p.month}-${p.day}`;
}

/** A time, without its date if that is today. */
export function moment(at: number, now: number, zone: string): string {
  const on = date(at, zone);
  return on === date(now, zone) ? clock(at, zone) : `${on} ${clock(at, zone)}`;
}

export function utc(at: number): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
}

/** A duration in its two largest non-zero units. */
export function duration(ms: number): string {
  const sign = ms < 0 ? "−" : "";
  const left = Math.abs(ms);
  if (left < second) return `${sign}${Math.round(left)} ms`;
  if (left < 10 * second) return `${sign}${(left / second).toFixed(1)} s`;
  if (left < minute) return `${sign}${Math.floor(left / second)} s`;
  const two = (big: number, bigName: string, small: number, smallName: string) => {
    const n = Math.floor(left / big);
    const m = Math.floor((left % big) / small);
    return `${sign}${n} ${bigName}${m ? ` ${m} ${smallName}` : ""}`;
  };
  if (left < hour) return two(minute, "min", second, "s");
  if (left < day) return two(hour, "h", minute, "min");
  return two(day, "d", hour, "h");
}

/** How long ago, or in how long. */
export function relative(at: number, now: number): string {
  const d = at - now;
  if (Math.abs(d) < second) return "now";
  return d < 0 ? `${duration(-d)} ago` : `in ${duration(d)}`;
}
