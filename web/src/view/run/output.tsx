import { useLayoutEffect, useMemo, useRef, useState } from "react";
import type { components } from "../../api/schema";
import { matches } from "../../model/search";

type Attempt = components["schemas"]["Attempt"];

interface Props {
  attempts: readonly { attempt: number; text: string; truncated?: boolean }[];
  running: boolean;
}

/** What the jobs of a run printed, the latest attempt first, with search. While the job runs it follows the end. */
export function Output({ attempts, running }: Props) {
  const [chosen, setChosen] = useState<number | null>(null);
  const [search, setSearch] = useState("");
  const [at, setAt] = useState(0);
  const latest = attempts.at(-1);
  const shown = attempts.find((a) => a.attempt === chosen) ?? latest;
  const box = useRef<HTMLPreElement>(null);
  const follow = useRef(true);
  const text = shown?.text ?? "";
  const hits = useMemo(() => matches(text, search), [text, search]);
  const hit = hits.length ? at % hits.length : 0;
  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    if (search) el.querySelector("mark[aria-current]")?.scrollIntoView({ block: "nearest" });
    else if (follow.current) el.scrollTop = el.scrollHeight;
  }, [text, search, hit]);
  return (
    <section className="card" aria-label="Output">
      <header>
        <h2>Output</h2>
        {attempts.length > 1 && (
          <select aria-label="Of attempt" value={shown?.attempt} onChange={(e) => setChosen(Number(e.target.value))}>
            {attempts.toReversed().map((a) => <option key={a.attempt} value={a.attempt}>attempt {a.attempt}</option>)}
          </select>
        )}
        {running && shown === latest && <span className="badge k-running">live</span>}
        <span className="gap" />
        {text && (
          <>
            <input
              type="search" placeholder="Search the output" aria-label="Search the output" value={search}
              onChange={(e) => {
                setSearch(e.target.value);
                setAt(0);
              }}
              onKeyDown={(e) => e.key === "Enter" && setAt((n) => (n + (e.shiftKey ? hits.length - 1 : 1)) % Math.max(1, hits.length))}
            />
            {search && <small role="status">{hits.length ? `${hit + 1} of ${hits.length}` : "no match"}</small>}
          </>
        )}
      </header>
      {text
        ? (
          <pre
            className="output" aria-label="Output of the job" tabIndex={0} ref={box}
            onScroll={(e) => {
              const el = e.currentTarget;
              follow.current = el.scrollHeight - el.scrollTop - el.clientHeight < 24;
            }}
          >
            <Marked text={text} hits={hits} length={search.length} current={hit} />
          </pre>
        )
        : <p className="none">{running ? "No output has been read yet." : "No output is stored."}</p>}
      {shown?.truncated && <p className="hint">Only the end of the output is kept.</p>}
    </section>
  );
}

function Marked({ text, hits, length, current }: { text: string; hits: readonly number[]; length: number; current: number }) {
  if (hits.length === 0) return text;
  const parts = [];
  let at = 0;
  for (const [i, from] of hits.entries()) {
    parts.push(text.slice(at, from), <mark key={from} aria-current={i === current ? "true" : undefined}>{text.slice(from, from + length)}</mark>);
    at = from + length;
  }
  return <>{parts}{text.slice(at)}</>;
}

/** The attempts with output, oldest first; the log is used if the attempt has none. */
export function outputs(attempts: readonly Attempt[], log: readonly components["schemas"]["JobEntry"][]): Props["attempts"] {
  return attempts.flatMap((a) => {
    const text = a.output ?? log.findLast((l) => l.attempt === a.attempt && l.output)?.output;
    return text ? [{ attempt: a.attempt, text }] : [];
  });
}
