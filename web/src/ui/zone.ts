import { knownZone } from "../model/time";

const key = "interlock.zone";

/** The zone to show times in: the one in the address, else the one chosen last, else the browser's own. */
export function chosenZone(asked: string | null): string {
  const zone = asked ?? localStorage.getItem(key) ?? "local";
  return knownZone(zone) ? zone : "UTC";
}

export function rememberZone(zone: string): void {
  if (zone === "local") localStorage.removeItem(key);
  else localStorage.setItem(key, zone);
}
