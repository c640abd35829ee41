/** How well a name matches what was typed: 0 is best; undefined if it does not match at all. */
export function score(name: string, typed: string): number | undefined {
  const [n, t] = [name.toLowerCase(), typed.trim().toLowerCase()];
  if (n === t) return 0;
  if (n.startsWith(t)) return 1;
  if (n.split(/[^\p{L}\p{N}]+/u).some((word) => word.startsWith(t))) return 2;
  if (n.includes(t)) return 3;
  return inOrder(n, t) ? 5 : undefined;
}

/** Whether all letters of t occur in n in that order, as in "obz" for orders-bronze. */
function inOrder(n: string, t: string): boolean {
  let at = 0;
  for (const c of n) if (c === t[at]) at++;
  return t.length > 1 && at === t.length;
}

/** The items that match, best first; equal ones stay in their order. */
export function ranked<T>(items: readonly T[], typed: string, of: (item: T) => number | undefined): T[] {
  if (!typed.trim()) return [...items];
  return items
    .map((item) => ({ item, n: of(item) }))
    .filter((x): x is { item: T; n: number } => x.n !== undefined)
    .toSorted((a, b) => a.n - b.n)
    .map((x) => x.item);
}
