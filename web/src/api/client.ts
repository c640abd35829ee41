import type { components } from "./schema";

export type Problem = components["schemas"]["Problem"];

/** Why a request failed: the server's error, or that it could not be reached. */
export class Failure extends Error {
  constructor(
    message: string,
    readonly status: number, // 0: there was no answer
  ) {
    super(message);
  }
}

/** An answer's data and its ETag. */
export interface Answer<T> {
  data: T;
  tag: string | null;
}

async function failure(response: Response): Promise<Failure> {
  try {
    const problem = (await response.json()) as Partial<Problem>;
    return new Failure(problem.detail || problem.title || response.statusText, response.status);
  } catch {
    return new Failure(`the server answered ${response.status} ${response.statusText}`, response.status);
  }
}

/** Called when the server no longer accepts the session: its token was revoked, or the cookie has expired. */
export const strangers = new Set<() => void>();

/** Called when a request gets no answer at all. */
export const unreachable = new Set<() => void>();

export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch("/api/v1" + path, { credentials: "same-origin", ...init });
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    for (const told of unreachable) told();
    throw new Failure("the server cannot be reached", 0);
  }
  if (response.status === 401) for (const told of strangers) told();
  if (!response.ok) throw await failure(response);
  return response;
}

/** Reads one answer. The browser asks again with the tag it has, so an unchanged answer does not travel twice. */
export async function read<T>(path: string, signal?: AbortSignal): Promise<Answer<T>> {
  const response = await request(path, signal ? { signal } : {});
  return { data: (await response.json()) as T, tag: response.headers.get("ETag") };
}

interface Page {
  items: unknown[];
  nextCursor: string | null;
}

/** Reads all pages of a list as one; a page holds hundreds of items, so there are few. */
export async function readAll<T extends Page>(path: string, signal?: AbortSignal): Promise<Answer<T>> {
  const first = await read<T>(path, signal);
  const items = [...first.data.items];
  const tags = [first.tag];
  let cursor = first.data.nextCursor;
  while (cursor) {
    const page = await read<T>(`${path}${path.includes("?") ? "&" : "?"}cursor=${encodeURIComponent(cursor)}`, signal);
    items.push(...page.data.items);
    tags.push(page.tag);
    cursor = page.data.nextCursor;
  }
  return { data: { ...first.data, items, nextCursor: null }, tag: tags.includes(null) ? null : tags.join() };
}
