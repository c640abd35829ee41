import type { components } from "../api/schema";

export type Deadline = components["schemas"]["Deadline"];

export interface Lateness {
  word: string;
  by: number | undefined;
  late: boolean;
}

/** How early or late a run is for its deadline. */
export function lateness(d: Pick<Deadline, "state" | "breachAt" | "doneAt" | "warned">, now: number): Lateness {
  const breach = Date.parse(d.breachAt);
  switch (d.state) {
    case "CANCELLED": return { word: "no longer applies", by: undefined, late: false };
    case "MET": return { word: "early by", by: d.doneAt ? breach - Date.parse(d.doneAt) : undefined, late: false };
    case "BREACHED": return { word: d.doneAt ? "late by" : "overdue by", by: (d.doneAt ? Date.parse(d.doneAt) : now) - breach, late: true };
    case "ARMED": break;
  }
  if (now >= breach) return { word: "overdue by", by: now - breach, late: true };
  return { word: d.warned ? "near, in" : "in", by: breach - now, late: false };
}
