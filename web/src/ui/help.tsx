import { kindName, type Kind, promiseName, type Promise } from "../model/slot";
import { Dialog } from "./dialog";
import { views } from "./views";
import { Glyph, PromiseMark } from "./mark";

const keys: [string, string][] = [
  ["/ or Ctrl K", "find a pipeline or a command"],
  ["?", "show this help"],
  ...views.map((v): [string, string] => [`g ${v.key}`, `go to ${v.name.toLowerCase()}`]),
  ["← → ↑ ↓", "move between cells and lanes"],
  ["Enter", "open the run of the period"],
  ["Space", "pin the details of a cell"],
  ["+ −", "zoom in and out"],
  ["[ ]", "earlier, later"],
  ["n", "back to now"],
];

/** The keys, and what the marks mean. */
export function Help({ close }: { close: () => void }) {
  return (
    <Dialog label="Keys and marks" className="help" close={close}>
      <h2>Keys</h2>
      <dl className="keys">{keys.map(([k, what]) => <div key={k}><dt><kbd>{k}</kbd></dt><dd>{what}</dd></div>)}</dl>
      <h2>Marks</h2>
      <ul className="legend">
        {(Object.keys(kindName) as Kind[]).map((k) => <li key={k}><span className={`swatch cell k-${k}`}><Glyph kind={k} /></span>{kindName[k]}</li>)}
        <li><span className="swatch cell again k-completed"><Glyph kind="completed" /></span>several attempts</li>
        {(Object.keys(promiseName) as Promise[]).map((p) => <li key={p}><span className="swatch"><PromiseMark promise={p} /></span>{promiseName[p]}</li>)}
      </ul>
      <button type="button" onClick={close}>Close</button>
    </Dialog>
  );
}
