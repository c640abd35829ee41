import { createContext, useContext } from "react";
import type { Session } from "../api/session";
import { allows, type Role } from "../model/role";

/** The viewer of the page. */
export const Me = createContext<Session>({ name: null, role: "viewer", pipelines: [], tokens: false, expiresAt: null });

/** Returns which actions to offer to the viewer. */
export function useMay(): (role: Role, pipeline?: string) => boolean {
  const me = useContext(Me);
  return (role, pipeline) => allows(me, role, pipeline);
}
