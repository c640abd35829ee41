/** The positions of a search term in a text, ignoring case; at most a thousand. */
export function matches(text: string, search: string): number[] {
  const wanted = search.toLowerCase();
  if (!wanted) return [];
  const all = text.toLowerCase();
  const out: number[] = [];
  for (let at = all.indexOf(wanted); at >= 0 && out.length < 1000; at = all.indexOf(wanted, at + wanted.length)) out.push(at);
  return out;
}
