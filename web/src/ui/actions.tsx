/** The buttons of the allowed actions. */
export function Actions({ actions }: { actions: { name: string; run: () => void }[] }) {
  if (actions.length === 0) return null;
  return <div className="actions" role="group" aria-label="Actions">{actions.map((a) => <button key={a.name} type="button" onClick={a.run}>{a.name}</button>)}</div>;
}
