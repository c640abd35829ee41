import { createHash, createSign, generateKeyPairSync } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Provider is an OpenID Connect provider on another site than the dashboard: it logs everyone in who comes, as one user. */
export class Provider {
  readonly clientID = "interlock";
  url = "";
  private keys = generateKeyPairSync("rsa", { modulusLength: 2048 });
  private codes = new Map<string, URLSearchParams>();
  private http: Server | undefined;

  constructor(private claims: Record<string, unknown>) {}

  async start(): Promise<void> {
    this.http = createServer((req, res) => {
      const at = new URL(req.url!, this.url);
      const answer = (body: unknown) => res.setHeader("Content-Type", "application/json").end(JSON.stringify(body));
      switch (at.pathname) {
        case "/.well-known/openid-configuration":
          return answer({
            issuer: this.url, authorization_endpoint: this.url + "/authorize", token_endpoint: this.url + "/token", jwks_uri: this.url + "/keys",
            id_token_signing_alg_values_supported: ["RS256"],
          });
        case "/keys":
          return answer({ keys: [{ ...this.keys.publicKey.export({ format: "jwk" }), kid: "1", use: "sig", alg: "RS256" }] });
        case "/authorize": {
          const code = String(this.codes.size + 1);
          this.codes.set(code, at.searchParams);
          const back = new URL(at.searchParams.get("redirect_uri")!);
          back.searchParams.set("code", code);
          back.searchParams.set("state", at.searchParams.get("state")!);
          back.searchParams.set("session_state", "of the provider's own");
          return res.writeHead(302, { Location: back.href }).end();
        }
        case "/token": {
          let body = "";
          req.on("data", (chunk) => (body += chunk)).on("end", () => {
            const form = new URLSearchParams(body);
            const asked = this.codes.get(form.get("code") ?? "");
            const challenge = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
            if (asked?.get("code_challenge") !== challenge) return res.writeHead(400).end();
            answer({ access_token: "unused", token_type: "Bearer", id_token: this.token(asked.get("nonce")!) });
          });
          return;
        }
      }
      res.writeHead(404).end();
    });
    await new Promise<void>((resolve) => this.http!.listen(0, "127.0.0.1", resolve));
    this.url = `http://localhost:${(this.http.address() as AddressInfo).port}`;
  }

  /** An ID token for the user. */
  private token(nonce: string): string {
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: this.url, aud: this.clientID, sub: "1", iat: now, exp: now + 60, nonce, ...this.claims };
    const text = `${encode({ alg: "RS256", kid: "1" })}.${encode(claims)}`;
    return `${text}.${createSign("RSA-SHA256").update(text).sign(this.keys.privateKey).toString("base64url")}`;
  }

  stop(): void {
    this.http?.closeAllConnections();
    this.http?.close();
  }
}
