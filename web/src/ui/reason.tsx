import type { components } from "../api/schema";
import { duration } from "../model/time";
import { Time } from "./clock";

export type Reason = components["schemas"]["Reason"];

/** A reason of the API as a sentence, with its times in the chosen zone and its durations in the style of the page. */
export function ReasonText({ reason }: { reason: Reason }) {
  return (
    <>
      {reason.parts.map((p, i) => {
        if (p.kind === "instant" && p.at) return <Time key={i} at={p.at} />;
        if (p.kind === "duration" && p.seconds !== null) return <span key={i} className="num">{duration(p.seconds * 1000)}</span>;
        if (p.kind === "command") return <code key={i} className="typed">{p.text}</code>;
        return p.text;
      })}
    </>
  );
}
