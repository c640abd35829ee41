import { useMemo, useState } from "react";
import { readAll } from "../api/client";
import { useResource } from "../api/resource";
import type { components } from "../api/schema";
import { found } from "../model/lane";
import { natural } from "../model/natural";
import { go, type Place, pipelinePath } from "../route/route";
import { usePipelineActions } from "../view/action/pipeline";
import { Dialog } from "./dialog";
import { views } from "./views";

type Pipelines = components["schemas"]["ListPipeline"];

interface Entry {
  name: string;
  hint: string;
  run: () => void;
}

const most = 50;

/** Finds a pipeline or a command by a few letters. */
export function Palette({ place, close, help }: { place: Place; close: () => void; help: () => void }) {
  const pipelines = useResource<Pipelines>("/pipelines?limit=500", { by: readAll, on: () => false });
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const here = place.view === "pipeline" ? place.id : place.view === "run" ? place.pipeline : undefined;
  const actions = usePipelineActions(pipelines.data?.items.find((p) => p.id === here));
  const entries = useMemo(() => {
    const commands: Entry[] = [
      ...actions.map((a) => ({ name: a.name, hint: here!, run: a.run })),
      ...views.map((v) => ({ name: v.name, hint: `g ${v.key}`, run: () => go(v.path) })),
      { name: "Trouble only", hint: "timeline", run: () => go("/?show=final,exhausted,missing,failed,late") },
      { name: "Compliance", hint: "deadlines", run: () => go("/deadlines?view=kept") },
      { name: "Files with problems", hint: "config", run: () => go("/config?show=problems") },
      { name: "Critical events", hint: "events", run: () => go("/events?severity=critical") },
      { name: "Keys and marks", hint: "?", run: help },
    ];
    const wanted = text.trim().toLowerCase();
    const named = commands.filter((c) => c.name.toLowerCase().includes(wanted));
    const items = [...(pipelines.data?.items ?? [])].filter((p) => found(p, wanted)).sort((a, b) => natural(a.id, b.id));
    return [...named, ...items.slice(0, most).map((p) => ({ name: p.id, hint: p.owner, run: () => go(pipelinePath(p.id)) }))];
  }, [text, pipelines.data, help, actions, here]);
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
