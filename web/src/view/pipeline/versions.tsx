import { readAll } from "../../api/client";
import { useResource } from "../../api/resource";
import type { components } from "../../api/schema";
import { diff } from "../../model/diff";
import { useQuery } from "../../route/route";
import { Time } from "../../ui/clock";
import { useMay } from "../../ui/me";
import { Show } from "../../ui/state";

type Versions = components["schemas"]["ListVersion"];
type Text = components["schemas"]["VersionText"];

/** The accepted versions of the pipeline's file, and what each changed. */
export function Versions({ id }: { id: string }) {
  const [query, change] = useQuery();
  const may = useMay();
  const readable = may("operator", id);
  const open = readable ? query.get("version") : null;
  const path = `/pipelines/${encodeURIComponent(id)}/versions`;
  const versions = useResource<Versions>(`${path}?limit=500`, { by: readAll, on: (e) => e["detail-type"].startsWith("CONFIG_") });
  return (
    <section className="card" aria-label="Versions">
      <h2>File</h2>
      <Show resource={versions} what="versions">
        {({ items }) => (
          <ol className="versions">
            {items.map((v, i) => (
              <li key={v.version + v.at}>
                {readable
                  ? <button type="button" className="plain" aria-expanded={open === v.version} onClick={() => change({ version: open === v.version ? undefined : v.version })}>{v.version.slice(0, 8)}</button>
                  : <span className="mono" title="Only operators can read the file">{v.version.slice(0, 8)}</span>}
                {" "}<Time at={v.at} /> {v.inForce && <span className="flag good">active</span>}
                {open === v.version && <Difference path={path} version={v.version} before={items[i + 1]?.version} />}
              </li>
            ))}
          </ol>
        )}
      </Show>
    </section>
  );
}

function Difference({ path, version, before }: { path: string; version: string; before: string | undefined }) {
  const now = useResource<Text>(`${path}/${version}`, { on: () => false });
  const then = useResource<Text>(before ? `${path}/${before}` : null, { on: () => false });
  return (
    <Show resource={now} what="version">
      {({ text }) => {
        if (!before) return <pre className="file">{text}</pre>;
        return (
          <Show resource={then} what="version before">
            {(old) => <pre className="file">{diff(old.text, text).map((l, i) => <span key={i} className={l.mark === "+" ? "added" : l.mark === "-" ? "removed" : undefined}>{l.mark} {l.text}{"\n"}</span>)}</pre>}
          </Show>
        );
      }}
    </Show>
  );
}
