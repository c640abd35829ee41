import type { ReactNode } from "react";
import { natural } from "../model/natural";
import { useQuery } from "../route/route";

export interface Column<T> {
  name: string; // in the address
  label: string;
  hint?: string;
  right?: boolean;
  /** The sort key; without it, the column is not sortable. */
  by?: (row: T) => number | string;
  show: (row: T) => ReactNode;
}

export type Order = { name: string; down: boolean };

/** "late" is upwards, "-late" downwards. */
export function parseOrder(text: string | null, usual: Order): Order {
  if (!text) return usual;
  return text.startsWith("-") ? { name: text.slice(1), down: true } : { name: text, down: false };
}

/** Sorts the rows by a column, stably. */
export function ordered<T>(rows: readonly T[], columns: readonly Column<T>[], order: Order): T[] {
  const by = columns.find((c) => c.name === order.name)?.by;
  if (!by) return [...rows];
  const compare = (a: number | string, b: number | string) => (typeof a === "string" || typeof b === "string" ? natural(String(a), String(b)) : a - b);
  return rows.toSorted((a, b) => (order.down ? -1 : 1) * compare(by(a), by(b)));
}

interface Props<T> {
  label: string;
  rows: readonly T[];
  columns: readonly Column<T>[];
  usual: Order;
  id: (row: T) => string;
  /** The query parameter of the order. */
  param?: string;
}

/** A table that can be sorted by its heads; the order is in the address. */
export function Table<T>({ label, rows, columns, usual, id, param = "sort" }: Props<T>) {
  const [query, change] = useQuery();
  const order = parseOrder(query.get(param), usual);
  const turn = (c: Column<T>) => {
    const down = c.name === order.name ? !order.down : c.name !== usual.name && Boolean(c.right);
    const same = c.name === usual.name && down === usual.down;
    change({ [param]: same ? undefined : `${down ? "-" : ""}${c.name}` });
  };
  return (
    <div className="scroll-x">
      <table className="periods" aria-label={label}>
        <thead>
          <tr>
            {columns.map((c) => {
              const on = c.name === order.name;
              return (
                <th key={c.name} scope="col" className={c.right ? "r" : undefined} title={c.hint} aria-sort={on ? (order.down ? "descending" : "ascending") : undefined}>
                  {c.by ? <button type="button" className="head-button" onClick={() => turn(c)}>{c.label}{on && <span aria-hidden="true"> {order.down ? "↓" : "↑"}</span>}</button> : c.label}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {ordered(rows, columns, order).map((r) => <tr key={id(r)}>{columns.map((c) => <td key={c.name} className={c.right ? "r num" : undefined}>{c.show(r)}</td>)}</tr>)}
        </tbody>
      </table>
    </div>
  );
}
