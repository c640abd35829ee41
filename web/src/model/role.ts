import type { components } from "../api/schema";

type Session = components["schemas"]["Session"];
export type Role = Session["role"];

/** The roles, least first: each includes those before it, except that a runner writes no readings. */
const roles: readonly Role[] = ["viewer", "sensor", "runner", "operator", "admin"];

/** Whether a name fits a pattern in which * stands for any characters and ? for one. */
export function fits(pattern: string, name: string): boolean {
  const text = pattern.replace(/[.+^${}()|\\]/g, "\\$&").replaceAll("*", "[^/]*").replaceAll("?", "[^/]");
  try {
    return new RegExp(`^${text}$`).test(name);
  } catch {
    return false;
  }
}

/** Whether to offer something that needs a role: the server is asked in any case. Without a pipeline it is about all of them. */
export function allows(s: Session, role: Role, pipeline?: string): boolean {
  if (roles.indexOf(s.role) < roles.indexOf(role) || (s.role === "runner" && role === "sensor")) return false;
  if (s.pipelines.length === 0) return true;
  return pipeline !== undefined && s.pipelines.some((p) => fits(p, pipeline));
}
