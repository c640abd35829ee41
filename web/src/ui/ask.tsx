import { createContext, type FormEvent, type ReactNode, useContext, useState } from "react";
import { onceKey } from "../api/act";
import { Failure } from "../api/client";
import { Dialog } from "./dialog";

/** Opens a dialog above the page, and shows a message after it. */
export interface Asker {
  open: (dialog: ReactNode) => void;
  close: () => void;
  tell: (message: string) => void;
}

export const Asking = createContext<Asker>({ open: () => {}, close: () => {}, tell: () => {} });

export const useAsk = () => useContext(Asking);

interface Props {
  title: string;
  submit: string;
  danger?: boolean;
  /** Whether the dialog asks for a reason. */
  reason?: "required" | "wanted";
  /** Prefills the reason. */
  because?: string | undefined;
  /** Does it, and returns the message to show; null if another dialog has replaced this one. The key makes a repeat the same request. */
  act: (form: FormData, key: string) => Promise<string | null>;
  children?: ReactNode;
}

/** A dialog for an action's parameters and reason. It shows the server's answer, and only success closes it. */
export function Ask({ title, submit, danger, reason, because, act, children }: Props) {
  const { close, tell } = useAsk();
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState("");
  const [key] = useState(onceKey);
  const send = async (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault();
    const form = new FormData(e.currentTarget);
    setBusy(true);
    setTrouble("");
    try {
      const done = await act(form, key);
      if (done === null) return;
      close();
      tell(done);
    } catch (cause) {
      setTrouble(cause instanceof Failure ? cause.message : String(cause));
      setBusy(false);
    }
  };
  return (
    <Dialog label={title} className="ask" close={close}>
      <form onSubmit={(e) => void send(e)}>
        <h2>{title}</h2>
        {children}
        {reason && (
          <label>
            Reason{reason === "wanted" && <small> (optional, recorded with the action)</small>}
            <textarea name="reason" rows={2} maxLength={1000} required={reason === "required"} defaultValue={because ?? ""} autoFocus={!children} />
          </label>
        )}
        {trouble && <p className="notice bad" role="alert">{trouble}</p>}
        <div className="buttons">
          <button type="button" onClick={close}>Cancel</button>
          <button type="submit" className={danger ? "danger" : "primary"} disabled={busy}>{busy ? "One moment…" : submit}</button>
        </div>
      </form>
    </Dialog>
  );
}

/** A form field as trimmed text; undefined if it is empty. */
export function field(form: FormData, name: string): string | undefined {
  const v = form.get(name);
  return typeof v === "string" && v.trim() ? v.trim() : undefined;
}
