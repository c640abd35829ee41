import { useState } from "react";

/** Asks for the token where the server wants one. */
export function Login({ why, login }: { why?: string | undefined; login: (token: string) => Promise<void> }) {
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(false);
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
        <p>This server asks for a token. Its operator gives them out; a viewer's is enough to look.</p>
        <label>
          Token
          <input type="password" autoComplete="current-password" required autoFocus value={token} onChange={(e) => setToken(e.target.value)} />
        </label>
        {why && <p className="error" role="alert">{why}</p>}
        <button type="submit" className="primary" disabled={busy}>{busy ? "One moment…" : "Log in"}</button>
      </form>
    </main>
  );
}
