import { useCallback, useEffect, useState } from "react";
import { Failure, read, request, strangers } from "./client";
import { live } from "./live";
import type { components } from "./schema";

/** The viewer of the page. */
export type Session = components["schemas"]["Session"];

export type Known = { state: "asking" } | { state: "in"; session: Session } | { state: "out"; why?: string } | { state: "unreachable" };

/** Asks who the viewer is, and lets them log in and out. The token goes to the server once; the session is a cookie that no script can read. */
export function useSession(): { known: Known; login: (token: string) => Promise<void>; logout: () => Promise<void> } {
  const [known, setKnown] = useState<Known>({ state: "asking" });
  const ask = useCallback(async () => {
    try {
      setKnown({ state: "in", session: (await read<Session>("/session")).data });
      live.restart();
    } catch (cause) {
      const unauthorised = cause instanceof Failure && cause.status === 401;
      setKnown(unauthorised ? { state: "out" } : { state: "unreachable" });
    }
  }, []);
  useEffect(() => void ask(), [ask]);
  useEffect(() => {
    const out = () => setKnown((old) => (old.state === "in" ? { state: "out", why: "Your session has ended. Log in again." } : old));
    strangers.add(out);
    return () => void strangers.delete(out);
  }, []);
  useEffect(() => {
    if (known.state !== "unreachable") return;
    const timer = setInterval(() => void ask(), 2000);
    return () => clearInterval(timer);
  }, [known.state, ask]);
  const login = useCallback(async (token: string) => {
    try {
      await request("/session", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token }) });
    } catch (cause) {
      setKnown({ state: "out", why: cause instanceof Failure ? cause.message : String(cause) });
      return;
    }
    await ask();
  }, [ask]);
  const logout = useCallback(async () => {
    await request("/session", { method: "DELETE" });
    location.assign("/");
  }, []);
  return { known, login, logout };
}
