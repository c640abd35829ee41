import { spark } from "../model/rule";

const wide = 96;
const tall = 22;

/** Values over time as a small line that ends in a dot; nothing below two values. */
export function Spark({ points, label }: { points: readonly { at: number; value: number }[]; label: string }) {
  const line = spark(points, wide, tall);
  if (!line) return null;
  const [x, y] = line.split(" ").at(-1)!.split(",");
  return (
    <svg className="spark" viewBox={`-3 -3 ${wide + 6} ${tall + 6}`} role="img" aria-label={label}>
      <polyline points={line} fill="none" stroke="currentColor" strokeWidth="1.4" strokeLinejoin="round" />
      <circle cx={x} cy={y} r="2.2" fill="currentColor" />
    </svg>
  );
}
