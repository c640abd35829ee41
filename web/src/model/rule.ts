import type { components } from "../api/schema";

export type Rule = components["schemas"]["Rule"];

const signs: Record<string, string> = { equals: "=", gt: ">", gte: "≥", lt: "<", lte: "≤", ne: "≠", not_equals: "≠" };

export function value(v: unknown): string {
  if (v === null || v === undefined) return "–";
  return typeof v === "string" ? v : JSON.stringify(v);
}

/** What a rule asks for, in a few words. */
export function asks(r: Pick<Rule, "check" | "field" | "needs">): string {
  if (r.check === "exists") return r.field ? `${r.field} exists` : "exists";
  const needs = r.needs === null || r.needs === undefined ? "" : ` ${value(r.needs)}`;
  return `${r.field ? `${r.field} ` : ""}${signs[r.check] ?? r.check.replaceAll("_", " ")}${needs}`;
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

/** A field of a reading as a figure; true and false count as one and nought. */
export function figure(data: Record<string, unknown>, field: string | null): number | undefined {
  const v = field ? field.split(".").reduce<unknown>((d, k) => (d as Record<string, unknown> | undefined)?.[k], data) : undefined;
  if (typeof v === "boolean") return v ? 1 : 0;
  return typeof v === "number" ? v : undefined;
}
