/** A sentence in which what stands between backquotes is to be typed. */
export function Prose({ children }: { children: string }) {
  return <>{children.split("`").map((part, i) => (i % 2 === 1 ? <code key={i} className="typed">{part}</code> : part))}</>;
}
