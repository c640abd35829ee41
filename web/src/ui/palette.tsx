import { useMemo, useState } from "react";
import { Autocomplete } from "react-aria-components/Autocomplete";
import { Input } from "react-aria-components/Input";
import { ListBox, ListBoxItem } from "react-aria-components/ListBox";
import { SearchField } from "react-aria-components/SearchField";
import { readAll } from "../api/client";
import { useResource } from "../api/resource";
import type { components } from "../api/schema";
import { found } from "../model/lane";
import { natural } from "../model/natural";
import { ranked, score } from "../model/rank";
import { go, type Place, pipelinePath } from "../route/route";
import { usePipelineActions } from "../view/action/pipeline";
import { Dialog } from "./dialog";
import { views } from "./views";

type Pipelines = components["schemas"]["ListPipeline"];

interface Entry {
  id: string;
  name: string;
  hint: string;
  run: () => void;
  /** Whether what was typed is in the owner, the description or a tag. */
  also?: (typed: string) => boolean;
}

const most = 50;

/** Finds a pipeline or a command by a few letters, the best match first. */
export function Palette({ place, close, help }: { place: Place; close: () => void; help: () => void }) {
  const pipelines = useResource<Pipelines>("/pipelines?limit=500", { by: readAll, on: () => false });
  const [typed, setTyped] = useState("");
  const here = place.view === "pipeline" ? place.id : place.view === "run" ? place.pipeline : undefined;
  const actions = usePipelineActions(pipelines.data?.items.find((p) => p.id === here));
  const all = useMemo(() => {
    const commands: Omit<Entry, "id">[] = [
      ...actions.map((a) => ({ name: a.name, hint: here!, run: a.run })),
      ...views.map((v) => ({ name: v.name, hint: `g ${v.key}`, run: () => go(v.path) })),
      { name: "Trouble only", hint: "timeline", run: () => go("/?show=final,exhausted,missing,held,failed,late") },
      { name: "Compliance", hint: "deadlines", run: () => go("/deadlines?view=kept") },
      { name: "Files with problems", hint: "config", run: () => go("/config?show=problems") },
      { name: "Critical events", hint: "events", run: () => go("/events?severity=critical") },
      { name: "Keys and marks", hint: "?", run: help },
    ];
    const items = [...(pipelines.data?.items ?? [])].sort((a, b) => natural(a.id, b.id));
    return [
      ...commands.map((c): Entry => ({ ...c, id: `command ${c.hint} ${c.name}` })),
      ...items.map((p): Entry => ({ id: p.id, name: p.id, hint: p.owner, run: () => go(pipelinePath(p.id)), also: (t) => found(p, t) })),
    ];
  }, [pipelines.data, help, actions, here]);
  const entries = ranked(all, typed, (e) => score(e.name, typed) ?? (e.also?.(typed) ? 4 : undefined)).slice(0, most);
  const take = (id: React.Key) => {
    const entry = entries.find((e) => e.id === id);
    close();
    entry?.run();
  };
  return (
    <Dialog label="Find a pipeline or command" className="palette" close={close}>
      <Autocomplete inputValue={typed} onInputChange={setTyped}>
        <SearchField aria-label="Find a pipeline or command" autoFocus>
          <Input placeholder="Find a pipeline, an owner, a command…" />
        </SearchField>
        <ListBox aria-label="Results" items={entries} onAction={take} renderEmptyState={() => <p className="state">Nothing matches.</p>}>
          {(e) => <ListBoxItem id={e.id} textValue={e.name} className="option"><span>{e.name}</span><small>{e.hint}</small></ListBoxItem>}
        </ListBox>
      </Autocomplete>
    </Dialog>
  );
}
