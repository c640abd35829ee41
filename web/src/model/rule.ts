import type { components } from "../api/schema";

export type Rule = components["schemas"]["Rule"];

const signs: Record<string, string> = { equals: "=", gt: ">", gte: "≥", lt: "<", lte: "≤", ne: "≠", not_equals: "≠" };

export function value(v: unknown): string {
  if (v === null || v === undefined) return "–";
  return typeof v === "string" ? v : JSON.stringify(v);
}

/** A rule's requirement, in a few words. */
export function asks(r: Pick<Rule, "check" | "field" | "needs"> & Partial<Pick<Rule, "time" | "negated">>): string {
  if (r.negated) return `not ${asks({ ...r, negated: false })}`;
  const time = r.time ? `, ${r.time}` : "";
  if (r.check === "exists") return `${r.field ? `${r.field} ` : ""}exists${time}`;
  const needs = r.needs === null || r.needs === undefined ? "" : ` ${value(r.needs)}`;
  return `${r.field ? `${r.field} ` : ""}${signs[r.check] ?? r.check.replaceAll("_", " ")}${needs}${time}`;
}

/** The rules that keep a gate closed. */
export function closing(gate: { rules: readonly Rule[] } | null): Rule[] {
  return gate?.rules.filter((r) => r.closes) ?? [];
}

/** A closed rule's requirement and the observed value, such as "rows: count ≥ 1000, but it is 12". */
export function ruleText(r: Rule): string {
  const name = `${r.from ? `${r.from}/` : ""}${r.key}`;
  return r.value === null || r.value === undefined ? `${name}: ${asks(r)}, but there is no reading` : `${name}: ${asks(r)}, but it is ${value(r.value)}`;
}

/** Points of a small chart of that size: values over time, oldest at the left, the largest at the top. */
export function spark(values: readonly { at: number; value: number }[], width: number, height: number): string {
  if (values.length < 2) return "";
  const times = values.map((v) => v.at);
  const sizes = values.map((v) => v.value);
  const [t0, t1] = [Math.min(...times), Math.max(...times)];
  const [v0, v1] = [Math.min(...sizes), Math.max(...sizes)];
  const x = (t: number) => (t1 === t0 ? 0 : ((t - t0) / (t1 - t0)) * width);
  const y = (v: number) => (v1 === v0 ? height / 2 : height - ((v - v0) / (v1 - v0)) * height);
  return [...values].sort((a, b) => a.at - b.at).map((v) => `${x(v.at).toFixed(1)},${y(v.value).toFixed(1)}`).join(" ");
}

/** An observed value as a number: true and false are 1 and 0, and so is whether a text equals the required one. */
export function figure(v: unknown, r: Pick<Rule, "check" | "needs">): number | undefined {
  if (typeof v === "boolean") return v ? 1 : 0;
  if (typeof v === "number") return v;
  if (typeof v !== "string") return undefined;
  if (r.check === "equals" || r.check === "not_equals") return String(r.needs) === v ? 1 : 0;
  const n = v.trim() === "" ? NaN : Number(v);
  return Number.isNaN(n) ? undefined : n;
}

export type RuleHistory = components["schemas"]["RuleHistory"];

/** The history of the field that a rule reads. */
export function historyOf(all: readonly RuleHistory[] | undefined, pipeline: string, r: Rule): RuleHistory | undefined {
  return all?.find((h) => h.pipeline === (r.from ?? pipeline) && h.key === r.key && h.field === r.field);
}

/** Who wrote the reading that a rule saw. */
export function writer(r: Rule, h: RuleHistory | undefined): string | null {
  return r.source ?? h?.points.find((p) => p.version === r.version)?.source ?? null;
}
