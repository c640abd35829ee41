import { useEffect, useState } from "react";
import { Failure, read } from "../api/client";

interface Page<T> {
  items: T[];
  nextCursor: string | null;
}

export interface OlderItems<T> {
  items: T[];
  trouble: string;
  more: (() => void) | undefined; // reads the next page, where there is one
}

/** The pages of a list after its first, loaded one by one on demand. */
export function useOlder<T>(path: string, first: string | null): OlderItems<T> {
  const [state, setState] = useState<{ items: T[]; cursor: string | null; began: boolean; trouble: string }>({ items: [], cursor: null, began: false, trouble: "" });
  useEffect(() => setState({ items: [], cursor: null, began: false, trouble: "" }), [path]);
  const cursor = state.began ? state.cursor : first;
  const more = async () => {
    try {
      const next = (await read<Page<T>>(`${path}&cursor=${encodeURIComponent(cursor!)}`)).data;
      setState((old) => ({ items: [...old.items, ...next.items], cursor: next.nextCursor, began: true, trouble: "" }));
    } catch (cause) {
      setState((old) => ({ ...old, trouble: cause instanceof Failure ? cause.message : String(cause) }));
    }
  };
  return { items: state.items, trouble: state.trouble, more: cursor ? () => void more() : undefined };
}

export function Older<T>({ older }: { older: OlderItems<T> }) {
  return (
    <>
      {older.trouble && <p className="old" role="alert">Could not read older ones: {older.trouble}.</p>}
      {older.more && <button type="button" onClick={older.more}>Older</button>}
    </>
  );
}
