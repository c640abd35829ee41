import { useMemo, useState } from "react";
import { readAll } from "../api/client";
import { useResource } from "../api/resource";
import type { components } from "../api/schema";
import { found } from "../model/lane";
import { natural } from "../model/natural";
import { go, pipelinePath } from "../route/route";
import { Dialog } from "./dialog";

type Pipelines = components["schemas"]["ListPipeline"];

interface Entry {
  name: string;
  hint: string;
  run: () => void;
}

const most = 50;

/** Finds a pipeline or a command by a few letters. */
export function Palette({ close, help }: { close: () => void; help: () => void }) {
  const pipelines = useResource<Pipelines>("/pipelines?limit=500", { by: readAll, on: () => false });
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const entries = useMemo(() => {
    const commands: Entry[] = [
      { name: "Timeline", hint: "g t", run: () => go("/") },
      { name: "Trouble only", hint: "timeline", run: () => go("/?show=final,exhausted,missing,failed,late") },
      { name: "Deadlines", hint: "g d", run: () => go("/deadlines") },
      { name: "Events", hint: "g e", run: () => go("/events") },
      { name: "Critical events", hint: "events", run: () => go("/events?severity=critical") },
      { name: "Keys and marks", hint: "?", run: help },
    ];
    const wanted = text.trim().toLowerCase();
    const named = commands.filter((c) => c.name.toLowerCase().includes(wanted));
    const items = [...(pipelines.data?.items ?? [])].filter((p) => found(p, wanted)).sort((a, b) => natural(a.id, b.id));
    return [...named, ...items.slice(0, most).map((p) => ({ name: p.id, hint: p.owner, run: () => go(pipelinePath(p.id)) }))];
  }, [text, pipelines.data, help]);
  const chosen = Math.min(at, entries.length - 1);
  const take = (e: Entry | undefined) => {
    if (!e) return;
    close();
    e.run();
  };
  return (
    <Dialog label="Find a pipeline or command" className="palette" close={close}>
      <input
        autoFocus
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={entries.length ? `palette-${chosen}` : undefined}
        aria-label="Find a pipeline or command"
        placeholder="Find a pipeline, an owner, a command…"
        value={text}
        onChange={(e) => {
          setText(e.target.value);
          setAt(0);
        }}
        onKeyDown={(e) => {
          if (e.key === "ArrowDown") setAt(Math.min(entries.length - 1, chosen + 1));
          else if (e.key === "ArrowUp") setAt(Math.max(0, chosen - 1));
          else if (e.key === "Enter") take(entries[chosen]);
          else return;
          e.preventDefault();
        }}
      />
      <ul id="palette-list" role="listbox" aria-label="Results">
        {entries.map((e, i) => (
          <li
            key={`${e.hint}/${e.name}`}
            id={`palette-${i}`}
            role="option"
            aria-selected={i === chosen}
            ref={i === chosen ? (el) => el?.scrollIntoView({ block: "nearest" }) : undefined}
            onPointerMove={() => setAt(i)}
            onClick={() => take(e)}
          >
            <span>{e.name}</span><small>{e.hint}</small>
          </li>
        ))}
      </ul>
      {entries.length === 0 && <p className="state">Nothing has that name.</p>}
    </Dialog>
  );
}
