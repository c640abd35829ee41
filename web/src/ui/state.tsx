import type { ReactNode } from "react";
import type { Resource } from "../api/resource";
import { useNow } from "./clock";
import { duration } from "../model/time";

export function Loading({ what }: { what: string }) {
  return <div className="state" role="status"><span className="spinner" aria-hidden="true" />Reading {what}…</div>;
}

export function Empty({ children }: { children: ReactNode }) {
  return <div className="state empty">{children}</div>;
}

export function Failed({ what, message }: { what: string; message: string }) {
  return <div className="state error" role="alert"><strong>Could not read {what}.</strong> <span>{message}</span></div>;
}

/** Shows the data of a resource, or why there is none. Old data is shown with its age. */
export function Show<T>({ resource, what, children }: { resource: Resource<T>; what: string; children: (data: T) => ReactNode }) {
  if (resource.data === undefined) {
    if (resource.failure) return <Failed what={what} message={resource.failure.message} />;
    return <Loading what={what} />;
  }
  return (
    <>
      {resource.failure && <Old what={what} at={resource.at} why={resource.failure.message} />}
      {children(resource.data)}
    </>
  );
}

function Old({ what, at, why }: { what: string; at: number; why: string }) {
  const now = useNow(1000);
  return <p className="old" role="status">The {what} shown is {duration(Math.max(0, now - at))} old: {why}.</p>;
}

export function Copy({ children }: { children: string }) {
  return (
    <span className="copy">
      <code>{children}</code>
      <button type="button" className="quiet" onClick={() => void navigator.clipboard?.writeText(children)} aria-label={`Copy ${children}`}>copy</button>
    </span>
  );
}
