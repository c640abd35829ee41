import { request } from "./client";
import { live } from "./live";

/** An idempotency key for a request. */
export function onceKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, "0")).join("");
}

/**
 * Asks the server to do something. Whether it is done, and why not, is for the server to say; either way
 * every view reads again.
 */
export async function act<T>(method: "POST" | "PUT" | "DELETE", path: string, body?: unknown, key?: string): Promise<T> {
  const headers: Record<string, string> = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  try {
    const response = await request(path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    return (await response.json()) as T;
  } finally {
    live.fallBehind();
  }
}
