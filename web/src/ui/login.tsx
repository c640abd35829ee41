import { useEffect, useState } from "react";
import { read } from "../api/client";
import type { components } from "../api/schema";

type Methods = components["schemas"]["LoginMethods"];

/** What the server says, in the page's address, about a login at the provider that did not succeed. */
const failures: Record<string, string> = {
  expired: "The login timed out, or was started in another browser. Try again.",
  refused: "The provider refused the login.",
  failed: "The provider's response is invalid. The server's log says why.",
  norole: "None of your groups has access to this server. Ask its operator for access.",
  unreachable: "The provider could not be reached. The server's log says why.",
  wait: "There were too many failed logins. Wait a few minutes and try again.",
};

/** Returns why the last login at the provider failed, if it did. */
export function loginFailure(search: string): string | undefined {
  const code = new URLSearchParams(search).get("login");
  return code === null ? undefined : (failures[code] ?? "The login failed. Try again.");
}

/** The login page: a token, or a provider, or both. */
export function Login({ why, login }: { why?: string | undefined; login: (token: string) => Promise<void> }) {
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(false);
  const [methods, setMethods] = useState<Methods>({ tokens: true, oidc: null });
  useEffect(() => {
    read<Methods>("/session/methods").then((answer) => setMethods(answer.data)).catch(() => undefined); // then the form stays
  }, []);
  const reason = why ?? loginFailure(location.search);
  return (
    <main className="login">
      <form
        onSubmit={(e) => {
          e.preventDefault();
          setBusy(true);
          void login(token).finally(() => setBusy(false));
        }}
      >
        <img src="/icon.svg" alt="" width="40" height="40" />
        <h1>Interlock</h1>
        {reason && <p className="error" role="alert">{reason}</p>}
        {methods.oidc && <a className="button primary" href="/api/v1/session/oidc">{methods.oidc}</a>}
        {methods.tokens && (
          <>
            <p>{methods.oidc ? "Or use a token." : "This server requires a token. Ask its operator for one; the role viewer is enough for reading."}</p>
            <label>
              Token
              <input type="password" autoComplete="current-password" required autoFocus={!methods.oidc} value={token} onChange={(e) => setToken(e.target.value)} />
            </label>
            <button type="submit" className="primary" disabled={busy}>{busy ? "One moment…" : "Log in"}</button>
          </>
        )}
      </form>
    </main>
  );
}
