import { useMemo } from "react";
import { groupBy } from "../../model/group";
import { parseSpan, spanName, spans, windowOf, zoom } from "../../model/axis";
import type { Axis } from "../../model/cell";
import { type Choice, type Filter, isFilter, type Pipeline } from "../../model/lane";
import { day, hour } from "../../model/time";
import { useQuery } from "../../route/route";

/** The default zoom: some dozens of the most common periods. */
export function usualSpan(pipelines: readonly Pipeline[]): number {
  const sizes = groupBy(pipelines, (p) => p.period);
  const of = (size: Pipeline["period"]) => sizes.get(size)?.length ?? 0;
  const [minutes, hours, days] = [of("minute"), of("hour"), of("day") + of("week") + of("month") + of("quarter")];
  if (minutes > hours && minutes > days) return hour;
  return days > hours ? 14 * day : day;
}

/** What a timeline shows, read from the address; every change is written back to it. */
export function useView(pipelines: readonly Pipeline[]) {
  const [query, change] = useQuery();
  const text = query.toString();
  return useMemo(() => {
    const q = new URLSearchParams(text);
    const span = parseSpan(q.get("span")) ?? usualSpan(pipelines);
    const asked = Date.parse(q.get("at") ?? "");
    const at = Number.isNaN(asked) ? undefined : asked;
    const filters = new Set<Filter>((q.get("show") ?? "").split(",").filter(isFilter));
    const axis: Axis = q.get("axis") === "execution" ? "execution" : "period";
    const choice: Choice = {
      search: q.get("q") ?? "", filters, group: q.get("group") ?? "", sort: q.get("sort") === "trouble" ? "trouble" : "name",
    };
    const place = (t: number) => change({ at: new Date(Math.round(t)).toISOString().replace(".000Z", "Z") });
    return {
      span, at, axis, choice, change,
      zoomTo: (from: number, to: number) => {
        const next = spans.find((x) => x >= 1.5 * (to - from) && x < span) ?? zoom(span, -1);
        change({ span: spanName(next), at: new Date((from + to - next) / 2).toISOString() });
      },
      live: () => change({ at: undefined }),
      jump: (t: number) => place(t),
      move: (by: 1 | -1) => place(windowOf(span, at, Date.now()).from + (by * span) / 2),
      zoomBy: (by: 1 | -1) => {
        const next = zoom(span, by);
        change({ span: spanName(next), at: at === undefined ? undefined : new Date(at + (span - next) / 2).toISOString() });
      },
      toggle: (f: Filter) => {
        const next = new Set(filters);
        if (!next.delete(f)) next.add(f);
        change({ show: [...next].join() });
      },
      clear: () => change({ q: undefined, show: undefined }),
    };
  }, [text, pipelines, change]);
}

export type View = ReturnType<typeof useView>;
