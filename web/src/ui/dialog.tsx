import { type ReactNode, useEffect, useRef } from "react";

/** A dialog that takes the keyboard until it is closed, and gives it back where it was. */
export function Dialog({ label, className, close, children }: { label: string; className?: string; close: () => void; children: ReactNode }) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const d = ref.current!;
    if (!d.open) d.showModal();
    return () => d.close();
  }, []);
  return (
    <dialog
      ref={ref}
      aria-label={label}
      className={className}
      onCancel={(e) => {
        e.preventDefault();
        close();
      }}
      onClick={(e) => e.target === ref.current && close()}
    >
      {children}
    </dialog>
  );
}
