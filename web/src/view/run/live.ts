import { useEffect, useState } from "react";
import { Failure, read } from "../../api/client";
import type { components } from "../../api/schema";
import type { Key } from "./run";

type RunOutput = components["schemas"]["RunOutput"];

/** How long a request waits for more output, and how long to wait after one that failed. */
const follow = "20s";
const pause = 2000;

/** Follows what the job of a run prints while it runs. Undefined if its output cannot be read before it ends. */
export function useLiveOutput(k: Key, attempt: number | undefined, running: boolean): string | undefined {
  const [text, setText] = useState<string>();
  const path = `/runs/${[k.pipeline, k.schedule, k.date].map(encodeURIComponent).join("/")}/output?attempt=${attempt}`;
  useEffect(() => {
    setText(undefined);
    if (!running || !attempt) return;
    const stop = new AbortController();
    void (async () => {
      let seen = "";
      while (!stop.signal.aborted) {
        try {
          const { data } = await read<RunOutput>(`${path}${seen && `&follow=${follow}&seen=${seen}`}`, stop.signal);
          if (data.live) setText(data.output);
          if (!data.running || !data.live) return;
          seen = data.seen;
        } catch (cause) {
          if (stop.signal.aborted || (cause instanceof Failure && cause.status === 404)) return;
          await new Promise((resolve) => setTimeout(resolve, pause));
        }
      }
    })();
    return () => stop.abort();
  }, [path, running, attempt]);
  return text;
}
