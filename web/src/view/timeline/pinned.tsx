import { type ReactNode, useRef } from "react";
import { Dialog } from "react-aria-components/Dialog";
import { Popover } from "react-aria-components/Popover";

/** The panel of a cell that was pinned: it has the focus, and Escape closes it. */
export function Pinned({ at, label, close, children }: { at: HTMLElement; label: string; close: () => void; children: ReactNode }) {
  const trigger = useRef(at);
  return (
    <Popover isOpen triggerRef={trigger} placement="bottom start" className="popover tip" onOpenChange={(open) => !open && close()}>
      <Dialog aria-label={label}>{children}</Dialog>
    </Popover>
  );
}
