import { readAll } from "../../api/client";
import type { Event } from "../../api/live";
import { useResource } from "../../api/resource";
import type { components } from "../../api/schema";
import { pipelinePath, useQuery } from "../../route/route";
import { Time } from "../../ui/clock";
import { Link } from "../../ui/link";
import { Copy, Empty, Show } from "../../ui/state";

type Files = components["schemas"]["ListConfigFile"];
type File = Files["items"][number];

const onConfig = (e: Event) => e["detail-type"].startsWith("CONFIG_");

/** The files that the server reads, those with problems first, each problem at its place. */
export function Config() {
  const [query, change] = useQuery();
  const search = (query.get("q") ?? "").toLowerCase();
  const only = query.get("show") === "problems";
  const files = useResource<Files>("/files?limit=500", { by: readAll, on: onConfig, every: 5000 });
  return (
    <section className="detail" aria-label="Config">
      <header className="heading"><h1>Config</h1><p>A changed file takes effect within two seconds. If it has errors, its last good version stays active.</p></header>
      <div className="controls">
        <input type="search" className="search" placeholder="Filter files" aria-label="Filter files" value={query.get("q") ?? ""} onChange={(e) => change({ q: e.target.value }, "typing")} />
        <button type="button" aria-pressed={only} onClick={() => change({ show: only ? undefined : "problems" })}>With problems only</button>
      </div>
      <Show resource={files} what="files">
        {({ items }) => {
          const shown = sorted(items.filter((f) => (!only || f.problems.length > 0) && `${f.file}\n${f.pipeline ?? ""}`.toLowerCase().includes(search)));
          const refused = items.filter((f) => f.state === "refused").length;
          const missing = items.filter((f) => f.state === "missing").length;
          const wrong = [refused > 0 && `${refused} rejected`, missing > 0 && `${missing} missing`].filter(Boolean).join(", ");
          if (items.length === 0) return <Empty><p>The server reads no files.</p></Empty>;
          return (
            <>
              <p className="hint">{items.length} files, {wrong || "no errors"}.</p>
              {shown.length === 0 ? <Empty><p>{only ? "No file has problems." : "No file matches."}</p></Empty> : <ul className="files card">{shown.map((f) => <One key={f.file} f={f} />)}</ul>}
            </>
          );
        }}
      </Show>
    </section>
  );
}

/** Refused and missing files first, then those with warnings, each by name. */
export function sorted<T extends Pick<File, "state" | "problems">>(files: readonly T[]): T[] {
  const rank = (f: T) => (f.state === "refused" || f.state === "missing" ? 0 : f.problems.length > 0 ? 1 : 2);
  return files.toSorted((a, b) => rank(a) - rank(b));
}

const stateName: Record<File["state"], string> = { "in force": "active", refused: "rejected", read: "read", missing: "missing" };

function One({ f }: { f: File }) {
  const flag = f.state === "refused" || f.state === "missing" ? "s-degraded" : f.problems.length > 0 ? "s-warned" : "good";
  return (
    <li>
      <p className="file-line">
        <span className="mono">{f.file}</span>
        <span className={`flag ${flag}`}>{stateName[f.state]}</span>
        {f.kind !== "pipeline" && <span className="flag">{f.kind}</span>}
        <span className="gap" />
        {f.pipeline && <Link href={pipelinePath(f.pipeline)}>{f.pipeline}</Link>}
        {f.version && <small>{f.state === "refused" ? "last good version" : "version"} <span className="mono">{f.version.slice(0, 8)}</span> since <Time at={f.acceptedAt} /></small>}
        {f.state === "refused" && !f.version && <small>no version has ever been active</small>}
      </p>
      {f.problems.length > 0 && (
        <ol className="problems">
          {f.problems.map((p, i) => (
            <li key={i} className={p.severity === "error" ? "bad-text" : "warn-text"}>
              <span className="mono">{p.line}:{p.column}</span> <span><strong>{p.path}</strong>{p.path && ": "}{p.message}</span>
            </li>
          ))}
        </ol>
      )}
      {f.state === "refused" && <Copy>{`interlock validate ${f.file}`}</Copy>}
    </li>
  );
}
